"""What dumps, catalog and settings say of inputs: what is refused, what is told, what is trained on all the same."""

import dataclasses

import pytest

from artifactctl.api.formats import Codec, FinalState
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import ArtifactctlError, Refused, UsageError
from extract.shards.dumps import DumpLayout, DumpWriter
from extract.shards.specforge import SpecForgeWriter
from extract.shards.speculators import SpeculatorsWriter
from tests.train.site import FORM, LENGTHS, Site, losses, made_records
from tests.train.tiny import USED


def require_refused(site: Site, error: type[ArtifactctlError], match: str, **words: object) -> None:
    with pytest.raises(error, match=match) as raised:
        site.train(**words)  # type: ignore[arg-type]
    assert raised.value.remedy
    assert not [each for each in site.out.iterdir() if each.is_dir()]


def test_a_map_that_was_never_verified_is_refused(site: Site) -> None:
    site.add_map("another", verified=False)
    require_refused(site, Refused, "another was never verified", vocab_map="another")


def test_layers_that_the_catalog_says_differently_are_refused(site: Site) -> None:
    site.add_states("labelled", labels={"layers": "1,4,5"})
    require_refused(site, Refused, r"the catalog says \[1, 4, 5\]", states="labelled")


def test_layers_that_nobody_says_are_asked_for(site: Site) -> None:
    site.add_states("silent", form=dataclasses.replace(FORM, layers=None))
    require_refused(site, UsageError, "does not say which layers", states="silent")
    site.train(states="silent", layers=(2, 4, 5), steps=1)


def test_a_final_state_on_the_other_side_of_the_norm_than_catalogued_is_refused(site: Site) -> None:
    site.add_states("labelled", labels={"final_state": "pre"})
    require_refused(site, Refused, "has final states `post` the norm, the catalog says `pre`", states="labelled")


def test_another_kind_than_hidden_states_is_refused(site: Site) -> None:
    require_refused(site, UsageError, "map is a vocab_map", states="map")


def test_a_run_with_another_map_or_other_settings_cannot_be_resumed_at_the_same_place(site: Site) -> None:
    site.train(steps=2)
    site.add_map("other", used=USED[:-1])
    for changed in ({"vocab_map": "other"}, {"seed": 1}, {"steps": 4}):
        with pytest.raises(Refused, match="was begun by another run"):
            site.train(resume=True, **{"steps": 2, **changed})  # type: ignore[arg-type]
    with pytest.raises(Refused, match="has checkpoints already"):
        site.train(steps=2)


def test_both_codecs_make_the_same_losses(site: Site) -> None:
    site.add_states("coded", codec=Codec.PLANES)
    for name in ("states", "coded"):
        site.train(states=name, out=site.root / f"of-{name}", steps=2)
    assert losses(site.root / "of-states") == losses(site.root / "of-coded")


def test_without_a_final_state_it_is_said_that_labels_are_hard(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.add_states("aux", form=dataclasses.replace(FORM, final_state=FinalState.NONE))
    trained = site.train(states="aux", steps=1)
    assert "lower acceptance" in trained.labels
    assert trained.labels in capsys.readouterr().err


@pytest.mark.parametrize("layout", [DumpLayout.SPECFORGE, DumpLayout.SPECULATORS])
def test_dumps_of_other_programs_make_the_losses_of_the_packed_one(
    site: Site, layout: DumpLayout, capsys: pytest.CaptureFixture[str]
) -> None:
    side = FinalState.POST if layout is DumpLayout.SPECFORGE else FinalState.PRE
    site.add_states("packed", form=dataclasses.replace(FORM, final_state=side))
    (site.root / "adopted").mkdir()
    writer: DumpWriter = (SpecForgeWriter if layout is DumpLayout.SPECFORGE else SpeculatorsWriter)(
        site.root / "adopted", dataclasses.replace(FORM, final_state=side)
    )
    for record in made_records(dataclasses.replace(FORM, final_state=side)):
        writer.append(record)
    writer.complete()
    site.register(site.root / "adopted", ArtifactKind.HIDDEN_STATES, tokens=sum(LENGTHS), records=len(LENGTHS))

    site.train(states="packed", out=site.root / "of-packed", steps=2)
    with pytest.raises(UsageError, match="does not say which layers"):
        site.train(states="adopted", out=site.root / "of-adopted", steps=2)
    trained = site.train(states="adopted", out=site.root / "of-adopted", steps=2, layers=(2, 4, 5))

    assert losses(site.root / "of-adopted") == losses(site.root / "of-packed")
    assert any("which weights made it" in note for note in trained.notes)
    assert all(note in capsys.readouterr().err for note in trained.notes[:1])
