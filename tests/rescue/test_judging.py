"""What is offered, in which order, and what never is."""

from datetime import timedelta

import pytest

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.observation import Holder, HolderKind
from artifactctl.recognition.sightings import Layout
from artifactctl.rescue.finds import Pointer
from artifactctl.rescue.knowledge import Knowledge, Known
from artifactctl.rescue.regret import Regret
from tests.rescue.values import NOW, a_checkpoint, a_find, judged, offered, reason


def test_older_checkpoints_go_and_the_newest_stays() -> None:
    said = judged(*(a_checkpoint(b"run/checkpoint-%d" % step, step) for step in (900, 1000, 2000)))

    assert offered(said) == [b"run/checkpoint-1000", b"run/checkpoint-900"]
    assert reason(said, b"run/checkpoint-900") == (
        "older checkpoint: its run has checkpoint-2000 and 1 more, whole and newer"
    )
    assert reason(said, b"run/checkpoint-2000") == "the last of its run"


@pytest.mark.parametrize(
    "marks",
    [
        {"details": (("is_best", "yes"),)},
        {"metrics": (("step", 1000.0), ("eval_loss", 0.1))},
    ],
    ids=["by the trainer's word", "by the lowest loss"],
)
def test_the_best_checkpoint_stays(marks: dict[str, object]) -> None:
    others = [
        a_checkpoint(b"run/checkpoint-%d" % step, step, metrics=(("step", float(step)), ("eval_loss", 0.5)))
        for step in (500, 2000)
    ]

    said = judged(a_checkpoint(b"run/checkpoint-1000", 1000, **marks), *others)

    assert offered(said) == [b"run/checkpoint-500"]
    assert reason(said, b"run/checkpoint-1000") == "the best of its run"


def test_a_torn_newest_checkpoint_replaces_nothing() -> None:
    said = judged(
        a_checkpoint(b"run/checkpoint-1", 1),
        a_checkpoint(b"run/checkpoint-2", 2, problems=("it holds no weights",)),
    )

    assert offered(said) == []


def test_a_torn_checkpoint_goes_once_a_whole_one_is_newer() -> None:
    said = judged(
        a_checkpoint(b"run/checkpoint-1", 1, problems=("it holds no weights",)), a_checkpoint(b"run/checkpoint-2", 2)
    )

    assert [(c.regret, c.why) for c in said.candidates] == [
        (Regret.NEVER_FINISHED, "never finished (it holds no weights), and checkpoint-2 is whole")
    ]


def test_while_the_newest_is_fresh_the_one_before_it_stays_too() -> None:
    fresh = a_checkpoint(b"run/checkpoint-3", 3, hours_old=0.1)

    said = judged(a_checkpoint(b"run/checkpoint-1", 1), a_checkpoint(b"run/checkpoint-2", 2), fresh)

    assert offered(said) == [b"run/checkpoint-1"]


def test_what_a_link_points_at_stays() -> None:
    said = judged(
        a_checkpoint(b"run/checkpoint-1", 1),
        a_checkpoint(b"run/checkpoint-2", 2),
        pointers=(Pointer(relative=b"run/keep", target=b"run/checkpoint-1/model.safetensors"),),
    )

    assert offered(said) == []
    assert reason(said, b"run/checkpoint-1") == "run/keep points at it"


def test_a_link_inside_of_itself_protects_nothing() -> None:
    said = judged(
        a_checkpoint(b"run/checkpoint-1", 1),
        a_checkpoint(b"run/checkpoint-2", 2),
        pointers=(Pointer(relative=b"run/checkpoint-1/latest", target=b"run/checkpoint-1/global_step1"),),
    )

    assert offered(said) == [b"run/checkpoint-1"]


def test_runs_of_different_folders_are_told_apart() -> None:
    assert offered(judged(a_checkpoint(b"a/checkpoint-1", 1), a_checkpoint(b"b/checkpoint-2", 2))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"hidden-v1", b"hidden-v2"),
        (b"hidden-old", b"hidden"),
        (b"hidden.bak", b"hidden"),
        (b"hidden_20260101", b"hidden_2026-03-01"),
        (b"hidden-v9", b"hidden-v10"),
    ],
)
def test_an_older_sibling_by_name_is_offered_as_a_guess(old: bytes, new: bytes) -> None:
    said = judged(a_find(old, hours_old=48), a_find(new))

    assert offered(said) == [old]
    assert f"older sibling of {new.decode()}" in reason(said, old)
    assert "guess" in reason(said, old)


@pytest.mark.parametrize(("one", "other"), [(b"part-1", b"part-2"), (b"rank0", b"rank1"), (b"hidden", b"merged-v2")])
def test_names_that_say_nothing_about_versions_are_not_guessed_about(one: bytes, other: bytes) -> None:
    assert offered(judged(a_find(one, hours_old=48), a_find(other))) == []


def test_an_older_name_that_changed_later_is_not_older() -> None:
    assert offered(judged(a_find(b"hidden-v1", hours_old=1), a_find(b"hidden-v2", hours_old=48))) == []


def test_an_unfinished_successor_replaces_nothing() -> None:
    assert offered(judged(a_find(b"hidden-v1", hours_old=48), a_find(b"hidden-v2", unfinished=True))) == []


def test_hidden_states_untouched_for_long_are_the_last_that_is_offered() -> None:
    said = judged(a_find(b"alone", hours_old=20 * 24), a_find(b"x-v1", hours_old=48), a_find(b"x-v2"))

    assert offered(said) == [b"x-v1", b"alone"]
    assert "20 days" in reason(said, b"alone")


def test_hidden_states_that_were_read_lately_are_in_use() -> None:
    assert offered(judged(a_find(b"alone", hours_old=20 * 24, read_at=NOW - timedelta(days=2)))) == []


@pytest.mark.parametrize("kind", [ArtifactKind.RESPONSE_SET, ArtifactKind.VOCAB_MAP, ArtifactKind.DRAFT_MODEL])
def test_what_nothing_can_bring_back_is_never_offered(kind: ArtifactKind) -> None:
    said = judged(
        a_find(b"set-v1", kind=kind, layout=None, hours_old=9000),
        a_find(b"set-v2", kind=kind, layout=None, hours_old=8000),
    )

    assert offered(said) == []
    assert len(said.kept) == 2


def test_what_holds_an_artifact_of_its_own_stays() -> None:
    inside = ((b"hidden-v1/t2d.pt", ArtifactKind.VOCAB_MAP),)

    said = judged(a_find(b"hidden-v1", hours_old=48, inside=inside), a_find(b"hidden-v2"))

    assert offered(said) == []
    assert "t2d.pt" in reason(said, b"hidden-v1")


def test_what_is_being_written_is_never_offered() -> None:
    said = judged(a_find(b"x.partial", layout=None, hours_old=0), leftovers=(a_find(b"y.tmp", hours_old=0.001),))

    assert offered(said) == []
    assert reason(said, b"y.tmp") == "it is being written right now"


def test_what_changed_lately_comes_after_its_equals_and_says_so() -> None:
    said = judged(leftovers=(a_find(b"a.tmp", hours_old=0.1), a_find(b"b.tmp", hours_old=5)))

    assert offered(said) == [b"b.tmp", b"a.tmp"]
    assert "changed 6 min ago" in reason(said, b"a.tmp")


def test_what_is_held_is_named_with_its_holder() -> None:
    reader = Holder(kind=HolderKind.DESCRIPTOR, path=b"", pid=411, command="python train.py")

    said = judged(a_find(b"hidden-v1", hours_old=48, holders=(reader,)), a_find(b"hidden-v2"))

    assert [(c.held_by, c.is_free_to_go) for c in said.candidates] == [((reader,), False)]


def test_a_torn_shard_is_offered_alone_unless_its_whole_folder_is() -> None:
    torn = a_find(b"hidden-v1/s.safetensors", is_directory=False, layout=None, problems=("cut short",))

    alone = judged(a_find(b"hidden-v1"), torn=(torn,))
    together = judged(a_find(b"hidden-v1", hours_old=48), a_find(b"hidden-v2"), torn=(torn,))

    assert offered(alone) == [b"hidden-v1/s.safetensors"]
    assert "cut short" in reason(alone, b"hidden-v1/s.safetensors")
    assert offered(together) == [b"hidden-v1"]


def test_a_download_cache_is_offered_unless_something_links_into_it() -> None:
    cache = a_find(
        b"hub/models--org--m", kind=ArtifactKind.MODEL, layout=Layout.HUB_CACHE, details=(("repo", "org/m"),)
    )

    free = judged(cache)
    linked = judged(cache, pointers=(Pointer(relative=b"model", target=b"hub/models--org--m/snapshots/a"),))

    assert "download cache of org/m" in reason(free, b"hub/models--org--m")
    assert offered(linked) == []


def known(**changes: object) -> Knowledge:
    values: dict[str, object] = {
        "name": "data/alone",
        "superseded": False,
        "repeatable": False,
        "promised": (),
        "needed_by": "",
    }
    return Knowledge(by_path={b"/data/alone": Known(**{**values, **changes})})  # type: ignore[arg-type]


def test_the_catalog_knows_what_is_superseded() -> None:
    said = judged(a_find(b"alone"), knowledge=known(superseded=True))

    assert [(c.regret, c.is_registered) for c in said.candidates] == [(Regret.SUPERSEDED, True)]


def test_a_hold_in_the_catalog_keeps_it_out_of_the_command() -> None:
    said = judged(a_find(b"alone"), knowledge=known(superseded=True, promised=("hold by me: paper",)))

    assert [c.is_free_to_go for c in said.candidates] == [False]


def test_what_a_living_child_needs_stays() -> None:
    said = judged(a_find(b"alone"), knowledge=known(superseded=True, needed_by="data/draft"))

    assert reason(said, b"alone") == "data/draft needs it, says the catalog"


def test_a_name_that_no_command_takes_is_shown_and_not_chosen() -> None:
    said = judged(leftovers=(a_find(b"a\nb.tmp"),))

    assert [c.is_free_to_go for c in said.candidates] == [False]
    assert "control character" in said.candidates[0].caution
