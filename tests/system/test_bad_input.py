"""Bad input: a clear error that names the object and the next step, the right exit code, and nothing lost."""

import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.bench import holders
from tests.bench.command_line import Outcome
from tests.bench.site import ROOT_NAME, Site, picture

pytestmark = pytest.mark.system

USAGE, REFUSED = 2, 4
GO = ("--yes", "--reason", "test", "--purge-now")


def is_clear_error(said: Outcome, code: int, *facts: str) -> None:
    """Check the form of an error: one `error:` line with the facts, then a `hint:`, no traceback, nothing on stdout."""
    assert said.code == code, said
    assert said.stdout == ""
    lines = said.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    hints = [line for line in lines if line.startswith("hint: ")]
    assert (len(errors), len(hints)) == (1, 1), said.stderr
    assert len(hints[0]) > len("hint: ")
    assert "Traceback" not in said.stderr
    for fact in facts:
        assert fact in errors[0] + hints[0], said.stderr


@pytest.fixture
def stocked(site: Site) -> Site:
    """A site with one artifact that may go."""
    site.superseded("old")
    return site


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("vol/nothing", "vol/nothing"),
        ("", "empty"),
        ("vol/old\nvol/old-new", "\\n"),
        ("vol/\x1b[31mold", "\\x1b"),
        ("../data/nothing", "nothing"),
        ("vol/*", "vol/*"),
        ("vol/OLD", "vol/OLD"),
        ("x" * 5000, "xxx"),
        ("vol/old/shard-00000.safetensors", "shard-00000.safetensors"),
    ],
)
def test_a_name_that_matches_nothing_is_an_error_and_never_an_empty_success(
    stocked: Site, word: str, shown: str
) -> None:
    before = picture(stocked.root / "old")

    for words in (["reclaim", word, *GO], ["reclaim", "vol/old", word, *GO], ["quarantine", "purge", word, "--yes"]):
        said = stocked(*words)
        is_clear_error(said, USAGE, *([shown] if shown != "empty" else []))
        assert "\n" not in said.stderr.splitlines()[0]
        assert "\x1b" not in said.stderr
    for words in (["why", word], ["hold", "add", word, "--reason", "x"], ["show", word], ["verify", word]):
        assert stocked(*words).code == USAGE, words
    assert picture(stocked.root / "old") == before


@pytest.mark.parametrize("words", [["reclaim", "-rf", "vol/old"], ["-rf"], ["quarantine", "purge", "-rf", "--yes"]])
def test_an_option_that_does_not_exist_is_an_error(stocked: Site, words: list[str]) -> None:
    is_clear_error(stocked(*words, "--yes", "--reason", "x"), USAGE, "-r")
    assert (stocked.root / "old").is_dir()


def test_an_artifact_called_like_an_option_is_reached_after_two_dashes(stocked: Site) -> None:
    is_clear_error(stocked("reclaim", *GO, "--", "-rf"), USAGE, "-rf")
    assert (stocked.root / "old").is_dir()


@pytest.mark.parametrize("size", ["100", "5g", "1e9", "-1GiB", "", "GiB", "1 potato"])
def test_a_size_without_a_clear_unit_is_an_error(stocked: Site, size: str) -> None:
    is_clear_error(stocked("reclaim", f"--need={size}", *GO), USAGE, size or "size")
    assert (stocked.root / "old").is_dir()


def test_more_is_needed_than_may_go(stocked: Site) -> None:
    is_clear_error(stocked("reclaim", "--need", "5TiB", *GO), REFUSED)
    assert (stocked.root / "old").is_dir()


def test_without_a_terminal_a_confirmation_is_never_taken_for_granted(stocked: Site) -> None:
    for words in (["--reason", "x"], ["--yes"], []):
        said = stocked("reclaim", "vol/old", *words, typed="quarantine\nyes\n")
        assert said.code == USAGE, said
        assert "--" in said.stderr
    assert stocked.states()["vol/old"] == "live"


@pytest.mark.parametrize("reason", ["", "   "])
def test_an_empty_reason_is_none(stocked: Site, reason: str) -> None:
    is_clear_error(stocked("reclaim", "vol/old", "--yes", "--reason", reason, "--json"), USAGE, "reason")
    assert stocked.states()["vol/old"] == "live"


def test_a_missing_catalog_is_named_and_not_made(stocked: Site, tmp_path: Path) -> None:
    missing = tmp_path / "elsewhere" / "catalog.db"

    for words in (["ls"], ["reclaim", "vol/old", "--reason", "x"], ["quarantine", "purge", "--expired"]):
        is_clear_error(stocked("--catalog", missing, *words), USAGE, str(missing), "artifactctl init")

    assert not missing.exists()
    assert (stocked.root / "old").is_dir()


def _newer(catalog: Path) -> None:
    with sqlite3.connect(catalog) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()


def _garbage(catalog: Path) -> None:
    catalog.write_bytes(b"not a database at all" * 1000)


def _empty(catalog: Path) -> None:
    catalog.write_bytes(b"")


@pytest.mark.parametrize("damage", [_newer, _garbage], ids=["newer", "garbage"])
def test_a_catalog_that_cannot_be_used_is_left_alone(stocked: Site, damage: Callable[[Path], None]) -> None:
    catalog = stocked.cli.home / "state" / "artifactctl" / "catalog.db"
    for log in (catalog.with_name("catalog.db-wal"), catalog.with_name("catalog.db-shm")):
        log.unlink(missing_ok=True)
    damage(catalog)
    before = catalog.read_bytes()

    for words in (["ls"], ["reclaim", "vol/old", *GO], ["init"], ["doctor", "--repair"], ["init", "--yes"]):
        said = stocked(*words)
        assert said.code in (1, 2, 3), said
        assert "Traceback" not in said.stderr
        assert "catalog" in said.stderr
        assert "hint: " in said.stderr
    assert catalog.read_bytes() == before
    assert (stocked.root / "old").is_dir()


def saved_plan(site: Site, *more: str) -> Path:
    path = site.cli.cwd / "plan.json"
    site.done("reclaim", "vol/old", "--out", path, *more)
    return path


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))
    return path


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another target": lambda plan: plan["steps"][0].update(relative="old-new", path=plan["steps"][0]["path"] + "-new"),
    "another inode": lambda plan: plan["steps"][0].update(inode=2),
    "purge at once": lambda plan: plan.update(purge_now=True),
    "a later expiry": lambda plan: plan.update(expires_at="2099-01-01T00:00:00Z"),
    "a waiver": lambda plan: plan.update(waived=["recoverable"]),
    "evidence": lambda plan: plan["steps"][0]["evidence"][0].update(reason="trust me"),
    "a doubled step": lambda plan: plan["steps"].append(plan["steps"][0]),
    "another machine": lambda plan: plan.update(machine_id="0" * 32),
    "no seal": lambda plan: plan.pop("seal"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_plan_edited_by_hand_is_refused(stocked: Site, edit: Callable[[dict[str, Any]], object]) -> None:
    plan = edited(saved_plan(stocked), edit)

    is_clear_error(stocked("apply", plan, "--yes", "--reason", "x"), REFUSED, "plan.json")

    assert stocked.states() == {"vol/old": "live", "vol/old-new": "live"}


@pytest.mark.parametrize(
    "text", ["", "not json", "[]", "{}", '{"schema": "artifactctl.reclaim-plan/1"}', "\x00\xff", '{"schema": 1}']
)
def test_a_file_that_is_no_plan_is_an_error(stocked: Site, text: str) -> None:
    plan = stocked.cli.cwd / "plan.json"
    plan.write_bytes(text.encode("latin-1"))

    is_clear_error(stocked("apply", plan, "--yes", "--reason", "x"), USAGE, "plan.json")
    is_clear_error(stocked("approve", plan, "--reason", "x"), USAGE, "plan.json")
    is_clear_error(stocked("apply", stocked.cli.cwd / "absent.json", "--yes"), USAGE, "absent.json")
    is_clear_error(stocked("apply", stocked.cli.cwd, "--yes"), USAGE)


def test_a_plan_is_applied_once(stocked: Site) -> None:
    plan = saved_plan(stocked)
    stocked.done("apply", plan, "--yes", "--reason", "x")

    is_clear_error(stocked("apply", plan, "--yes", "--reason", "x"), REFUSED, "applied already")
    stocked.done("quarantine", "restore", "vol/old")
    is_clear_error(stocked("apply", plan, "--yes", "--reason", "x"), REFUSED, "applied already")
    resumed = stocked("apply", plan, "--resume", "--yes", "--reason", "x")
    assert stocked.states()["vol/old"] == "live", resumed


def test_an_expired_plan_is_refused(stocked: Site) -> None:
    plan = saved_plan(stocked)

    later = stocked.later(timedelta(hours=25))

    is_clear_error(later("apply", plan, "--yes", "--reason", "x"), REFUSED, "expired")
    assert stocked.states()["vol/old"] == "live"


def test_a_plan_of_another_catalog_or_root_is_refused(stocked: Site, tmp_path: Path) -> None:
    plan = saved_plan(stocked)
    other = tmp_path / "other.db"
    stocked.done("--catalog", other, "init")
    is_clear_error(stocked("--catalog", other, "apply", plan, "--yes", "--reason", "x"), REFUSED, "catalog")

    stocked.done("root", "forget", ROOT_NAME, "--yes")
    is_clear_error(stocked("apply", plan, "--yes", "--reason", "x"), REFUSED, "root")
    assert (stocked.root / "old").is_dir()


def test_another_catalog_may_not_touch_the_root(stocked: Site, tmp_path: Path) -> None:
    other = replace(
        stocked, cli=replace(stocked.cli, extra_environment={"ARTIFACTCTL_CATALOG": str(tmp_path / "o.db")})
    )
    other.done("init")
    before = picture(stocked.root / "old")

    adding = other("root", "add", stocked.root, "--name", "mine")
    reclaiming = other("reclaim", stocked.root / "old", *GO, "--waive", "recoverable")

    assert adding.code in (USAGE, REFUSED), adding
    assert reclaiming.code in (USAGE, REFUSED), reclaiming
    assert picture(stocked.root / "old") == before
    assert stocked("reclaim", "vol/old", "--dry-run").code == 0


def test_a_plan_is_stale_when_the_world_has_changed(stocked: Site) -> None:
    plan = saved_plan(stocked)
    (stocked.root / "old").rename(stocked.root / "moved")
    (stocked.root / "old").mkdir()
    (stocked.root / "old" / "other").write_text("somebody else's")

    said = stocked("apply", plan, "--yes", "--reason", "x", "--json")

    assert said.code == REFUSED, said
    assert (stocked.root / "old" / "other").read_text() == "somebody else's"


def test_a_root_that_must_not_be_one_is_refused(stocked: Site, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(stocked.outside)
    for path in ("/", "/usr", "/etc", "/proc", link, "/absent", stocked.root / "old" / "shard-00000.safetensors"):
        is_clear_error(stocked("root", "add", path, "--name", "x"), USAGE)
    for path in (stocked.root / "old", stocked.root.parent):
        is_clear_error(stocked("root", "add", path, "--name", "x"), REFUSED, "overlaps")
    assert not (stocked.root / "old" / ".artifactctl").exists()


def test_the_tools_own_folder_is_nobodys_artifact(stocked: Site) -> None:
    for path in (stocked.root / ".artifactctl", stocked.root / ".artifactctl" / "quarantine"):
        said = stocked("reclaim", path, *GO, "--waive", "recoverable")
        assert said.code in (USAGE, REFUSED), said
        registered = stocked("register", path, "--kind", "other", "--name", "mine")
        assert registered.code in (USAGE, REFUSED), registered


def test_restore_to_a_place_outside_the_root_is_an_error(stocked: Site) -> None:
    stocked.set_aside("vol/old")
    for place in (stocked.outside / "x", "/tmp/x", stocked.root / ".." / "x", stocked.root / ".artifactctl" / "x"):
        said = stocked("quarantine", "restore", "vol/old", "--to", place)
        assert said.code in (USAGE, REFUSED), (place, said)
    assert stocked.quarantined() == ["vol/old"]
    stocked.done("quarantine", "restore", "vol/old")


def test_a_broken_journal_is_told_and_nothing_is_removed(stocked: Site) -> None:
    stocked.set_aside("vol/old")
    journal = stocked.root / ".artifactctl" / "journal"
    content = journal.read_bytes()
    middle = len(content.rstrip(b"\0 \n")) // 2
    journal.write_bytes(content[:middle] + b"\x00garbage\xff" + content[middle + 9 :])

    purged = stocked("quarantine", "purge", "vol/old", "--yes")

    assert purged.code != 0, purged
    assert "Traceback" not in purged.stderr
    assert stocked("doctor").code == 3
    (place,) = stocked.content_in_quarantine()
    assert (place / "shard-00000.safetensors").is_file()


def test_a_name_is_never_a_reason_to_break_the_output(site: Site) -> None:
    odd = os.fsdecode(b"caf\xe9 \n\x1b[31m \xf0\x9f\x98\x80")
    site.dump(odd)
    site.done("register", site.root / odd, "--kind", "hidden_states", "--name", "vol/odd")

    with holders.descriptor(site.root / odd / "shard-00000.safetensors"):
        text = site("reclaim", "vol/odd", "--dry-run")
        answer = site("reclaim", "vol/odd", "--dry-run", "--json")
        path = site("reclaim", site.root / odd, "--dry-run")

    assert text.code == REFUSED
    assert "\x1b" not in text.stdout
    assert path.stdout == text.stdout
    assert answer.json()["refused"][0]["path_b64"]
