"""`archive` and `leave` as they are typed."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from artifactctl.domain.artifacts import ReplicaState
from tests.cli.stock import Shop


@pytest.fixture
def two_roots(tmp_path: Path) -> Shop:
    """A shop whose artifact `dump` lies in the root `near`; `far` is another root."""
    shop = Shop(folder=tmp_path)
    shop.volume.mkdir()
    shop.open().close()
    for name in ("near", "far"):
        (tmp_path / name).mkdir()
        assert shop.run("root", "add", str(tmp_path / name)).exit_code == 0
    (tmp_path / "near/dump").mkdir()
    (tmp_path / "near/dump/a.bin").write_bytes(os.urandom(100_000))
    for made in ("near/dump/a.bin", "near/dump"):
        os.utime(tmp_path / made, (1_700_000_000, 1_700_000_000))  # long before the shop's clock
    assert shop.run("register", str(tmp_path / "near/dump"), "--kind", "response_set", "--name", "dump").exit_code == 0
    return shop


def test_the_answer_for_scripts_says_what_was_proven(two_roots: Shop, tmp_path: Path) -> None:
    result = two_roots.run("archive", "dump", "--json")

    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["schema"] == "artifactctl.archive/1"
    assert (answer["size_bytes"], answer["sent_bytes"], answer["verified_level"]) == (100_000, 100_000, "digests")
    assert answer["destination"] == str(tmp_path / "far/dump")
    assert answer["read_back_from"] in ("device", "cache", "unknown")
    assert answer["next_steps"] == [f"artifactctl reclaim {tmp_path}/near/dump --dry-run"]
    assert (tmp_path / "far/dump/a.bin").read_bytes() == (tmp_path / "near/dump/a.bin").read_bytes()


def test_the_next_command_that_is_offered_works(two_roots: Shop, tmp_path: Path) -> None:
    two_roots.run("archive", "dump")

    answer = json.loads(
        two_roots.run(
            "reclaim", str(tmp_path / "near/dump"), "--dry-run", "--waive", "settled", "--reason", "test", "--json"
        ).stdout
    )

    (step,) = answer["steps"]
    (evidence,) = [item for item in step["evidence"] if item["guard"] == "recoverable"]
    assert evidence["reason"] == "another verified copy is on `far`"


def test_a_second_time_it_says_that_a_copy_is_there(two_roots: Shop) -> None:
    two_roots.run("archive", "dump", "--to", "far")

    again = two_roots.run("archive", "dump", "--to", "far")

    assert again.exit_code == 4
    assert "verify dump --level digests" in again.stderr


def test_copies_are_listed_and_doctor_is_content(two_roots: Shop) -> None:
    two_roots.run("archive", "dump")

    assert "2 copies" in two_roots.run("ls").stdout
    assert two_roots.run("doctor").exit_code == 0


def test_what_was_measured_is_what_leave_reckons_with(two_roots: Shop) -> None:
    answer = json.loads(two_roots.run("leave", two_roots.host.identify().hostname, "--by", "1h", "--json").stdout)
    assert (answer["basis"], answer["verdict"]) == ("assumed", "fits")
    assert [(item["name"], item["cannot_be_rebuilt"]) for item in answer["save"]] == [("dump", True)]
    assert answer["commands"] == ["artifactctl archive dump --to DESTINATION"]


@pytest.mark.parametrize("to", ["far", "store"])
def test_after_a_purge_a_restore_offers_the_copy_that_is_left(two_roots: Shop, tmp_path: Path, to: str) -> None:
    word = to if to == "far" else f"file://{tmp_path}/store"
    assert two_roots.run("archive", "dump", "--to", word).exit_code == 0
    gone = two_roots.run(
        "reclaim", str(tmp_path / "near/dump"), "--waive", "settled", "--reason", "room", "--purge-now", "--yes"
    )
    assert gone.exit_code in (0, 5), gone.output + gone.stderr  # 5: others write to this disk meanwhile

    refused = two_roots.run("quarantine", "restore", "dump")

    assert refused.exit_code == 4
    where = "`far`" if to == "far" else word
    assert f"`artifactctl unarchive dump` brings it back from {where}" in refused.stderr
    assert two_roots.run("unarchive", "dump").exit_code == 0
    assert (tmp_path / "near/dump/a.bin").exists()


@pytest.fixture
def stored(two_roots: Shop, tmp_path: Path) -> tuple[Shop, str]:
    """The same with `blob`, verified by its digests, of which a finished copy is in a store; the URL is the second."""
    url, place = f"file://{tmp_path}/store", tmp_path / "near/blob"
    place.mkdir()
    (place / "a.bin").write_bytes(os.urandom(100_000))
    for made in (place / "a.bin", place):
        os.utime(made, (1_700_000_000, 1_700_000_000))
    assert two_roots.run("register", str(place), "--kind", "other", "--name", "blob").exit_code == 0
    assert two_roots.run("archive", "blob", "--to", url).exit_code == 0
    assert two_roots.run("verify", "blob", "--level", "digests").exit_code == 0
    return two_roots, url


def objects(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())


def removed(shop: Shop, url: str) -> Any:
    return shop.run("reclaim", url, "--purge-now", "--yes", "--reason", "no more rent", "--json")


def test_a_finished_copy_in_a_store_is_removed_while_the_original_is_as_it_was_verified(
    stored: tuple[Shop, str], tmp_path: Path
) -> None:
    shop, url = stored
    looked = shop.run("reclaim", url, "--dry-run")
    without = shop.run("reclaim", url, "--yes", "--reason", "no more rent")
    before = objects(tmp_path)

    done = removed(shop, url)

    assert (looked.exit_code, without.exit_code, done.exit_code) == (0, 2, 0), done.output + done.stderr
    assert "blob: would be removed from" in looked.stdout
    assert "--purge-now" in without.stderr
    assert len(before) == 2
    assert objects(tmp_path) == []
    assert json.loads(done.stdout)["steps"][0]["outcome"] == "purged"
    assert (tmp_path / "near/blob/a.bin").exists()
    told = json.loads(shop.run("audit", "ls", "--action", "archive", "--json").stdout)["events"]
    assert {"archive.remove_begin", "archive.remove"} <= {event["action"] for event in told}
    assert shop.run("reclaim", url, "--dry-run").exit_code == 2
    assert shop.run("doctor").exit_code == 0


@pytest.mark.parametrize("why", ["set aside", "changed", "held"])
def test_what_may_be_the_last_copy_or_is_held_stays_in_the_store(
    stored: tuple[Shop, str], tmp_path: Path, why: str
) -> None:
    shop, url = stored
    if why == "set aside":
        waived = ("--waive", "settled", "--reason", "room", "--yes")
        assert shop.run("reclaim", str(tmp_path / "near/blob"), *waived).exit_code == 0
    elif why == "changed":
        (tmp_path / "near/blob/a.bin").write_bytes(os.urandom(100_000))
    else:
        assert shop.run("hold", "add", "blob", "--reason", "the paper").exit_code == 0
    before = objects(tmp_path)

    refused = removed(shop, url)

    assert refused.exit_code == 4
    assert objects(tmp_path) == before
    (step,) = json.loads(refused.stdout)["steps"]
    guards = [each["guard"] for each in step["evidence"] if each["verdict"] == "blocked"]
    assert guards == (["no_hold"] if why == "held" else ["recoverable"])


def test_a_removal_from_a_store_that_was_interrupted_counts_for_nothing_and_is_gone_on_with(
    stored: tuple[Shop, str], tmp_path: Path
) -> None:
    shop, url = stored
    with closing(shop.open()) as catalog, catalog.writing("ada", shop.clock.now()) as writing:
        (copy,) = writing.archives()
        writing.change_archive(copy.archive_id, expected=ReplicaState.ARCHIVED, to=ReplicaState.PURGING)

    waived = ("--waive", "settled", "--reason", "room", "--yes")
    original = shop.run("reclaim", str(tmp_path / "near/blob"), *waived)
    told = shop.run("doctor")
    done = removed(shop, url)

    assert original.exit_code == 4
    assert f"artifactctl reclaim {url} --purge-now" in told.stdout
    assert done.exit_code == 0
    assert objects(tmp_path) == []
