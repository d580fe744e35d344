"""What came from what: both directions, however far, and never in a circle."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artifactctl.catalog import LineageCycle, UnknownObject
from artifactctl.domain.artifacts import ArtifactKind, LineageEdge, LineageRole

EXTRACTED, TRAINED, MAPPED = LineageRole.EXTRACTED_FROM, LineageRole.TRAINED_ON, LineageRole.MAPPED_WITH


def test_lineage_is_known_in_both_directions_and_however_far(place, write):
    corpus, states, vocab, draft = (place(name).artifact_id for name in ("corpus", "states", "vocab", "draft"))
    with write() as writing:
        writing.add_lineage(states, corpus, EXTRACTED)
        writing.add_lineage(vocab, corpus, EXTRACTED)
        writing.add_lineage(draft, states, TRAINED)
        writing.add_lineage(draft, vocab, MAPPED)

        assert writing.parents(draft) == (
            LineageEdge(child_id=draft, parent_id=states, role=TRAINED),
            LineageEdge(child_id=draft, parent_id=vocab, role=MAPPED),
        )
        assert [edge.child_id for edge in writing.children(corpus)] == [states, vocab]
        assert writing.ancestors(draft) == (corpus, states, vocab)
        assert writing.descendants(corpus) == (states, vocab, draft)
        assert writing.ancestors(corpus) == ()
        assert len(writing.edges()) == 4


def test_recording_an_edge_again_changes_nothing(place, write):
    corpus, states = place("corpus").artifact_id, place("states").artifact_id
    with write() as writing:
        writing.add_lineage(states, corpus, EXTRACTED)
        writing.add_lineage(states, corpus, EXTRACTED)
        writing.add_lineage(states, corpus, TRAINED)

        assert len(writing.edges()) == 2


def test_nothing_can_be_its_own_ancestor(place, write):
    a, b, c = (place(name).artifact_id for name in "abc")
    with write() as writing:
        writing.add_lineage(b, a, EXTRACTED)
        writing.add_lineage(c, b, TRAINED)

        with pytest.raises(LineageCycle) as refusal:
            writing.add_lineage(a, c, MAPPED)
        with pytest.raises(LineageCycle):
            writing.add_lineage(a, a, MAPPED)
        with pytest.raises(LineageCycle):
            writing.supersede(c, a)
        with pytest.raises(UnknownObject):
            writing.add_lineage(a, 99, MAPPED)

    assert "a cannot come from c" in refusal.value.message


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(wanted=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15))
def test_whatever_is_asked_for_no_circle_arises(empty, noon, wanted):
    with empty.writing("ada", noon) as writing:
        first = len(writing.artifacts())
        ids = [writing.add_artifact(f"{first}-{i}", ArtifactKind.OTHER).artifact_id for i in range(6)]
        refused = 0
        for child, parent in wanted:
            try:
                writing.add_lineage(ids[child], ids[parent], EXTRACTED)
            except LineageCycle:
                refused += 1

        assert all(artifact_id not in writing.ancestors(artifact_id) for artifact_id in ids)
        accepted = {(edge.child_id, edge.parent_id) for edge in writing.edges() if edge.child_id in ids}
        assert len(accepted) == len({(ids[c], ids[p]) for c, p in wanted} & accepted)
        for artifact_id in ids:
            assert all(artifact_id in writing.descendants(above) for above in writing.ancestors(artifact_id))
