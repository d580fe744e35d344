"""The world moves between two looks, and during the grace: nothing that became wanted is lost."""

import shutil
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from tests.artifacts.checkpoints import model_folder
from tests.artifacts.corpora import json_lines, tokenised
from tests.bench import holders
from tests.bench.fixtures import SiteFactory
from tests.bench.pausing import paused_at
from tests.bench.site import ROOT_NAME, Site, picture
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system

LATER = timedelta(days=30)
BETWEEN_THE_LOOKS = "set-aside:checked"
RECLAIM = ("reclaim", "vol/old", "--yes", "--reason", "test", "--json")


def blocking(evidence: list[dict[str, Any]]) -> dict[str, str]:
    return {item["guard"]: item["reason"] for item in evidence if item["verdict"] not in ("clear", "waived")}


@pytest.mark.parametrize("change", ["new shard", "longer shard", "rewritten shard", "removed shard"])
def test_what_changes_between_the_looks_is_put_back(site: Site, change: str) -> None:
    site.superseded("old")
    shard = site.root / "old" / "shard-00001.safetensors"

    with paused_at(BETWEEN_THE_LOOKS, site.cli, *RECLAIM, "--purge-now") as paused:
        if change == "new shard":
            (site.root / "old" / "shard-00002.safetensors").write_bytes(b"just written")
        elif change == "longer shard":
            with shard.open("ab") as file:
                file.write(b"more")
        elif change == "rewritten shard":
            shard.write_bytes(b"x" * shard.stat().st_size)
        else:
            shard.unlink()
        before = picture(site.root / "old")

    (step,) = paused.outcome.json()["steps"]
    assert (paused.outcome.code, step["outcome"]) == (5, "busy_restored"), paused.outcome
    assert "shard-0000" in step["detail"] or "changed" in step["detail"]
    assert picture(site.root / "old") == before
    assert site.states()["vol/old"] == "live"
    assert site.content_in_quarantine() == []
    site.done("doctor")


@pytest.mark.parametrize("hold", [holders.descriptor, holders.mapping, holders.working_directory, holders.shared_lock])
def test_somebody_who_comes_between_the_looks_gets_it_back(site: Site, hold: Any) -> None:
    site.superseded("old")
    before = picture(site.root / "old")
    held = site.root / "old"
    if hold is not holders.working_directory:
        held = held / "shard-00000.safetensors"

    with ExitStack() as stack:
        with paused_at(BETWEEN_THE_LOOKS, site.cli, *RECLAIM, "--purge-now") as paused:
            pid = stack.enter_context(hold(held))
        (step,) = paused.outcome.json()["steps"]

        assert (paused.outcome.code, step["outcome"]) == (5, "busy_restored"), paused.outcome
        assert str(pid) in step["detail"] + str(step["evidence"])
    assert picture(site.root / "old") == before
    assert site.states()["vol/old"] == "live"


def test_in_use_and_its_old_place_taken_it_is_kept_for_ever(site: Site) -> None:
    site.superseded("old")
    before = picture(site.root / "old")

    with ExitStack() as stack:
        with paused_at("set-aside:renamed", site.cli, *RECLAIM, "--purge-now") as paused:
            (content,) = site.content_in_quarantine()
            stack.enter_context(holders.descriptor(content / "shard-00000.safetensors"))
            (site.root / "old").mkdir()
            (site.root / "old" / "new").write_text("somebody began again")
        (step,) = paused.outcome.json()["steps"]
    assert (paused.outcome.code, step["outcome"]) == (5, "busy_kept"), paused.outcome

    for words in (["quarantine", "purge", "vol/old", "--yes"], ["quarantine", "restore", "vol/old"]):
        refused = site(*words)
        assert refused.code == 4, refused
        assert "--to" in refused.stdout + refused.stderr
    assert site.later(timedelta(days=4000))("quarantine", "purge", "--expired", "--yes").code == 0
    site.done("quarantine", "restore", "vol/old", "--to", site.root / "old-again")
    assert picture(site.root / "old-again") == before
    assert (site.root / "old" / "new").read_text() == "somebody began again"


def test_a_hold_added_between_the_looks_stops_the_purge(site: Site) -> None:
    site.superseded("old")
    before = picture(site.root / "old")

    with paused_at(BETWEEN_THE_LOOKS, site.cli, *RECLAIM, "--purge-now") as paused:
        held = site("hold", "add", "vol/old", "--reason", "the paper needs it")

    assert held.code == 0, held
    assert paused.outcome.code == 5, paused.outcome
    aside, step = paused.outcome.json()["steps"]
    assert (aside["outcome"], step["outcome"]) == ("quarantined", "refused")
    assert "no_hold" in blocking(step["evidence"])
    site.done("quarantine", "restore", "vol/old")
    assert picture(site.root / "old") == before


def purge_is_refused(site: Site, name: str, guard: str, *facts: str) -> None:
    """By name, as expired, and in the dry run; the content stays and can be put back."""
    (content,) = site.content_in_quarantine()
    before = picture(content)
    later = site.later(LATER)
    dry = site("quarantine", "purge", name, "--dry-run", "--json")
    named = site("quarantine", "purge", name, "--yes", "--json")
    text = site("quarantine", "purge", name, "--yes")
    expired = later("quarantine", "purge", "--expired", "--yes", "--json")

    assert [outcome.code for outcome in (dry, named, text, expired)] == [4, 4, 4, 4]
    for outcome in (dry, named, expired):
        (step,) = outcome.json()["steps"]
        assert guard in blocking(step["evidence"])
    for fact in (guard, *facts):
        assert fact in text.stdout
    assert picture(content) == before
    assert site.states()[name] == "quarantined"


def test_a_hold_added_during_the_grace_stops_the_purge_until_it_is_released(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    site.done("hold", "add", name, "--reason", "the paper needs it")

    purge_is_refused(site, name, "no_hold", "the paper needs it")

    later = site.later(LATER)
    later.done("hold", "release", name, "--reason", "the paper is out")
    assert later.done("quarantine", "purge", name, "--yes", "--json").json()["steps"][0]["outcome"] == "purged"


def test_a_reader_during_the_grace_stops_the_purge(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    (content,) = site.content_in_quarantine()

    with holders.descriptor(content / "shard-00000.safetensors") as pid:
        purge_is_refused(site, name, "not_held", str(pid))

    site.later(LATER).done("quarantine", "purge", name, "--yes")


def test_a_file_put_into_the_quarantine_stops_the_purge(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    (content,) = site.content_in_quarantine()
    (content / "saved by somebody").write_text("keep me")

    purge_is_refused(site, name, "known_members", "saved by somebody")

    site.done("quarantine", "restore", name)
    assert (site.root / "old" / "saved by somebody").read_text() == "keep me"


def test_its_successor_reclaimed_during_the_grace_stops_the_purge(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    successor = "vol/old-new"
    went = site("reclaim", successor, "--yes", "--reason", "both", "--waive", "recoverable", "--purge-now")
    assert went.code == 0, went

    purge_is_refused(site, name, "recoverable", successor)


@pytest.mark.parametrize("how", ["rm", "changed"])
def test_a_successor_that_is_no_longer_as_verified_stops_the_purge(site: Site, how: str) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    shard = site.root / "old-new" / "shard-00000.safetensors"
    if how == "rm":
        for member in (site.root / "old-new").iterdir():
            member.unlink()
        (site.root / "old-new").rmdir()
    else:
        shard.write_bytes(b"x" * shard.stat().st_size)

    purge_is_refused(site, name, "recoverable", "vol/old-new")


def rebuildable(site: Site) -> str:
    """Hidden states whose recipe is recorded: a corpus and a model."""
    json_lines(site.root / "corpus.jsonl", tokenised(20))
    model_folder(site.root / "model")
    site.dump("states")
    site.done("register", site.root / "corpus.jsonl", "--kind", "merged_corpus", "--name", "vol/corpus")
    site.done("register", site.root / "model", "--kind", "model", "--name", "vol/model")
    inputs = ("--input", "vol/corpus", "--input", "vol/model")
    site.done("register", site.root / "states", "--kind", "hidden_states", "--name", "vol/states", *inputs)
    site.done("verify", "--all")
    return "vol/states"


def test_its_input_reclaimed_during_the_grace_stops_the_purge(site: Site) -> None:
    name = rebuildable(site)
    site.set_aside(name)
    plain = site("reclaim", "vol/corpus", "--yes", "--reason", "test", "--json")
    assert plain.code == 4, plain
    assert "vol/states" in str(plain.json()["refused"])
    went = site("reclaim", "vol/corpus", "--yes", "--reason", "test", "--waive", "recoverable")
    assert went.code == 0, went

    for item in (name, "vol/corpus"):
        refused = site("quarantine", "purge", item, "--yes", "--json")
        if item == name:
            assert refused.code == 4, refused
            assert "recoverable" in blocking(refused.json()["steps"][0]["evidence"])
    assert site.states()[name] == "quarantined"


@pytest.mark.parametrize("lost", ["corpus.jsonl", "model"])
def test_its_input_deleted_behind_the_catalogs_back_is_no_input(site: Site, lost: str) -> None:
    name = rebuildable(site)
    assert site("reclaim", name, "--dry-run").code == 0
    (site.root / lost).rename(site.outside / lost)

    refused = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")

    assert refused.code == 4, refused
    assert "recoverable" in blocking(refused.json()["refused"][0]["evidence"])


def test_an_artifact_and_its_only_input_never_go_in_one_run(site: Site) -> None:
    name = rebuildable(site)

    both = site("reclaim", name, "vol/corpus", "--yes", "--reason", "test", "--purge-now", "--json")

    assert (site.root / "states").is_dir() or (site.root / "corpus.jsonl").is_file(), both
    assert both.code == 5, both
    assert sorted(step["outcome"] for step in both.json()["steps"]) == ["purged", "refused"]


def test_expired_takes_only_what_is_past_its_grace(site: Site) -> None:
    first, second = site.superseded("first"), site.superseded("second")
    site.set_aside(first)
    site.later(timedelta(days=6)).set_aside(second)

    assert site.done("quarantine", "purge", "--expired", "--yes", "--json").json()["steps"] == []
    week = site.later(timedelta(days=7, minutes=1)).done("quarantine", "purge", "--expired", "--yes", "--json").json()

    assert [(step["name"], step["outcome"]) for step in week["steps"]] == [(first, "purged")]
    assert site.states()[second] == "quarantined"


def test_a_clock_set_ahead_ends_no_grace(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    wrong = site.clock_set(timedelta(days=7, minutes=1))

    kept = wrong("quarantine", "purge", "--expired", "--yes", "--json")
    shown = wrong("quarantine", "purge", "--expired", "--dry-run")

    assert kept.json()["steps"] == []
    assert f"{name} stays: its grace is over by the clock" in kept.stderr
    assert "Nothing is past its grace." in shown.stdout
    assert site.quarantined() == [name]


def test_with_a_clock_behind_the_catalog_nothing_expires(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    site.later(timedelta(days=3)).done("verify", "vol/old-new")

    early = site("quarantine", "purge", "--expired", "--yes")

    assert early.code == 0
    assert "clock" in early.stderr
    assert site.quarantined() == [name]


def test_two_commands_on_one_root_exclude_each_other(site: Site) -> None:
    site.superseded("old")
    other = site.superseded("other")

    with paused_at(BETWEEN_THE_LOOKS, site.cli, *RECLAIM) as paused:
        busy = site("reclaim", other, "--yes", "--reason", "test")
        repairing = site("doctor", "--repair")

    assert busy.code == 6, busy
    assert repairing.code == 6, repairing
    assert paused.outcome.code == 0, paused.outcome
    assert site.quarantined() == ["vol/old"]


def test_a_clone_of_the_volume_is_not_taken_for_the_root(ext4_volume: Volume, site_on: SiteFactory) -> None:
    site = site_on(ext4_volume)
    name = site.superseded("old")
    clone = site.outside / "clone"
    clone.mkdir()
    for member in (".artifactctl", "old", "old-new"):
        shutil.copytree(site.root / member, clone / member, symlinks=True)

    second = site("root", "add", clone, "--name", "clone")

    assert second.code in (2, 4), second
    assert ROOT_NAME in second.stderr
    assert site("reclaim", name, "--dry-run").code in (0, 4)


def test_a_hold_that_comes_after_a_purge_has_begun_is_refused_and_not_promised(site: Site) -> None:
    site.superseded("old")
    site.set_aside("vol/old")

    with paused_at("begin-purge:begun", site.cli, "quarantine", "purge", "vol/old", "--yes", "--reason", "x", "--json"):
        late = site("hold", "add", "vol/old", "--reason", "wait")

    assert late.code == 4
    assert "cannot be kept any more: it is purging" in late.stderr
    assert site("hold", "add", "vol/old", "--reason", "wait").code == 4


def test_a_link_to_a_path_that_was_made_anew_does_not_keep_the_quarantined_one(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    latest = site.root / "latest"
    latest.symlink_to("old")
    dangling = site("quarantine", "purge", name, "--yes", "--json")
    site.dump("old")
    content = picture(site.root / "old")
    (inside,) = site.content_in_quarantine()
    reaching = site.root / "reaching"
    reaching.symlink_to(inside / "shard-00000.safetensors")
    reached = site("quarantine", "purge", name, "--yes", "--json")
    reaching.unlink()

    site.done("quarantine", "purge", name, "--yes")

    assert (dangling.code, reached.code) == (4, 4)
    assert "nothing is now" in blocking(dangling.json()["steps"][0]["evidence"])["not_referenced"]
    assert "reaching" in blocking(reached.json()["steps"][0]["evidence"])["not_referenced"]
    assert picture(latest.resolve()) == content
