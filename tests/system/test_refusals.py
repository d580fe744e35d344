"""What must stay is refused, each time by the guard's name and with the fact a person needs, in text and in JSON."""

import json
import mmap
import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts.checkpoints import model_folder
from tests.artifacts.vocab_maps import two_torch_files
from tests.bench import holders
from tests.bench.fixtures import SiteFactory, VolumeFactory
from tests.bench.site import ROOT_NAME, Site, picture
from tests.bench.volumes import FilesystemKind

pytestmark = pytest.mark.system

REFUSED = 4


def refused(site: Site, name: str, guard: str, *facts: str) -> dict[str, Any]:
    """Try it for real, in JSON and in text; check that nothing moved; return the evidence of the guard."""
    target = site.root / name.removeprefix(f"{ROOT_NAME}/")
    before = inodes(target)
    said = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")
    text = site("reclaim", name, "--yes", "--reason", "test")
    answer = site("why", name, "--json").json()

    assert (said.code, text.code) == (REFUSED, REFUSED), said.stdout + text.stdout + said.stderr
    blocking = blocking_evidence(said.json()["refused"])
    assert guard in blocking, blocking
    words = json.dumps(blocking[guard], ensure_ascii=False)
    for fact in facts:
        assert fact in words, words
        assert fact in text.stdout, text.stdout
    assert guard in text.stdout
    assert blocking[guard]["remedy"], "a refusal says what would change it"
    assert answer["may_go"] is False
    assert guard in {item["guard"] for item in answer["evidence"] if item["verdict"] != "clear"}
    assert inodes(target) == before
    assert site.quarantined() == []
    return blocking[guard]


def inodes(target: Path) -> dict[bytes, int]:
    """Return every name with its inode; contents may be growing under a writer's hands."""
    return {name: look[1] for name, look in picture(target).items()}


def blocking_evidence(refused_items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert len(refused_items) == 1, refused_items
    return {item["guard"]: item for item in refused_items[0]["evidence"] if item["verdict"] not in ("clear", "waived")}


WORDS = {
    "descriptor": "open",
    "location_descriptor": "open",
    "mapping": "mapped into memory",
    "working_directory": "current directory",
    "root_directory": "root directory",
    "executable": "runs the program",
    "bind_mount_elsewhere": "mounted",
    "descriptor_in_flight": "the kernel says",
    "thread_descriptor": "open",
    "writing": "open",
    "shared_lock": "flock",
    "loop_device": "loop device",
    "swap_file": "swap",
}


@pytest.mark.parametrize("hold", holders.HOLDS, ids=holders.hold_name)
def test_what_somebody_uses_is_refused_with_the_process_named(site: Site, hold: holders.Hold) -> None:
    (site.root / "old").mkdir()
    held = holders.prepare(hold, site.root / "old")
    name = site.superseded("old")

    with hold.establish(held) as pid:
        guard = "unleased" if hold.name == "shared_lock" else "not_held"
        facts = [WORDS[hold.name], *([str(pid)] if hold.pid_is_known else [])]
        if hold.target is not holders.Target.FOLDER:
            facts.append(held.name)
        refused(site, name, guard, *facts)

    if hold.name not in ("writing", "swap_file"):  # those two changed the file
        assert site.set_aside(name)["outcome"] == "quarantined"


def test_a_lease_by_lease_run_is_honoured_until_the_command_ends(site: Site, tmp_path: Path) -> None:
    name = site.superseded("old")
    ready = tmp_path / "ready"
    code = f"import pathlib,sys; pathlib.Path({str(ready)!r}).touch(); sys.stdin.read()"
    words = site.cli.command("lease", "run", name, "--", sys.executable, "-c", code)
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=site.cli.environment, cwd=site.cli.cwd) as leasing:
        assert leasing.stdin is not None
        while not ready.exists():
            assert leasing.poll() is None
            time.sleep(0.05)
        refused(site, name, "unleased", "is leased by", sys.executable)
        refused(site.clock_set(timedelta(days=2)), name, "unleased", "is leased by", sys.executable)
        leasing.stdin.close()
        assert leasing.wait(timeout=30) == 0

    assert site.set_aside(name)["outcome"] == "quarantined"


def test_a_lock_on_the_folder_itself_counts_as_a_lease(site: Site) -> None:
    name = site.superseded("old")

    with holders.shared_lock(site.root / "old") as pid:
        refused(site, name, "unleased", str(pid), "flock")

    assert site.set_aside(name)["outcome"] == "quarantined"


@pytest.mark.parametrize(
    "held", ["run/ckpt", "run", "run/ckpt/inner"], ids=["itself", "its parent", "something inside"]
)
def test_a_hold_on_it_above_it_or_below_it_is_honoured(site: Site, held: str) -> None:
    for folder in ("run", "run/ckpt", "run/ckpt/inner", "new"):
        model_folder(site.root / folder)
        site.done("register", site.root / folder, "--kind", "checkpoint", "--name", f"vol/{folder}")
    site.done("verify", "vol/new")
    site.done("supersede", "vol/run/ckpt", "--by", "vol/new")
    site.done("hold", "add", f"vol/{held}", "--reason", "the paper needs it")

    refused(site, "vol/run/ckpt", "no_hold", "the paper needs it", "holds")


def test_a_stray_file_blocks_and_is_named(site: Site) -> None:
    name = site.superseded("old")
    (site.root / "old" / "notes of a colleague.txt").write_text("keep me")

    refused(site, name, "known_members", "notes of a colleague.txt")


def test_a_bind_mount_of_the_same_filesystem_below_it_blocks(site: Site) -> None:
    (site.root / "old" / "cache").mkdir(parents=True)
    (site.outside / "precious").write_text("keep me")
    name = site.superseded("old")

    with holders.bind_mount(site.outside, site.root / "old" / "cache"):
        refused(site, name, "confined", "cache", "mount")

    assert (site.outside / "precious").read_text() == "keep me"


def test_a_bind_mount_on_a_member_file_blocks(site: Site) -> None:
    name = site.superseded("old")
    precious = site.outside / "precious"
    precious.write_text("keep me")

    with holders.bind_mount(precious, site.root / "old" / "shard-00000.safetensors"):
        refused(site, name, "confined", "shard-00000.safetensors")

    assert precious.read_text() == "keep me"


@pytest.mark.parametrize("leads_to", ["old", "old/shard-00001.safetensors"])
def test_a_link_from_a_sibling_blocks_and_is_named(site: Site, leads_to: str) -> None:
    name = site.superseded("old")
    (site.root / "latest").symlink_to(leads_to)

    refused(site, name, "not_referenced", "latest")


def test_a_link_under_another_managed_root_blocks(site: Site) -> None:
    name = site.superseded("old")
    site.done("root", "add", site.outside, "--name", "other")
    (site.outside / "best").symlink_to(site.root / "old")

    refused(site, name, "not_referenced", "best")


def test_a_path_that_goes_through_a_link_is_refused(site: Site) -> None:
    (site.root / "runs").mkdir()
    name = site.superseded("runs/old")
    (site.root / "runs").rename(site.outside / "runs")
    (site.root / "runs").symlink_to(site.outside / "runs")
    before = picture(site.outside / "runs")

    said = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")
    text = site("reclaim", name, "--yes", "--reason", "test")

    assert (said.code, text.code) == (REFUSED, REFUSED)
    assert "runs" in json.dumps(blocking_evidence(said.json()["refused"])["confined"])
    assert "symbolic link" in text.stdout
    assert picture(site.outside / "runs") == before


@pytest.mark.parametrize("flag", ["i", "a"])
def test_an_immutable_member_is_refused_before_anything_is_touched(site: Site, flag: str) -> None:
    name = site.superseded("old")
    member = site.root / "old" / "shard-00001.safetensors"
    subprocess.run(["chattr", f"+{flag}", member], check=True)
    try:
        refused(site, name, "removable", "shard-00001.safetensors", f"chattr -{flag}")
    finally:
        subprocess.run(["chattr", f"-{flag}", member], check=True)

    site.done("supersede", name, "--by", f"{name}-new")  # a flag moves the ctime, as a forged write would
    assert site.set_aside(name)["outcome"] == "quarantined"


def test_a_member_whose_size_drifted_from_the_catalog_is_refused(site: Site) -> None:
    name = site.superseded("old")
    with (site.root / "old" / "shard-00001.safetensors").open("ab") as file:
        file.write(b"more")

    refused(site, name, "unchanged", "shard-00001.safetensors")


def test_a_member_that_is_gone_is_refused(site: Site) -> None:
    name = site.superseded("old")
    (site.root / "old" / "shard-00001.safetensors").unlink()

    refused(site, name, "unchanged", "shard-00001.safetensors")


def test_a_vocab_map_is_kept_while_a_draft_needs_it(site: Site) -> None:
    two_torch_files(site.root / "vocab")
    two_torch_files(site.root / "vocab-new")
    model_folder(site.root / "draft")
    for folder, kind in (("vocab", "vocab_map"), ("vocab-new", "vocab_map"), ("draft", "draft_model")):
        site.done("register", site.root / folder, "--kind", kind, "--name", f"vol/{folder}")
    site.done("link", "vol/draft", "--input", "vol/vocab:mapped_with")
    site.done("verify", "vol/vocab-new", "vol/draft")
    site.done("supersede", "vol/vocab", "--by", "vol/vocab-new")

    refused(site, "vol/vocab", "no_live_descendant", "vol/draft", "needs it")


def test_what_nobody_can_rebuild_is_refused(site: Site) -> None:
    site.dump("only")
    site.done("scan", ROOT_NAME)

    refused(site, "vol/only", "recoverable", "nobody can rebuild it")


def test_no_waiver_opens_a_hard_guard(site: Site) -> None:
    name = site.superseded("old")

    with holders.descriptor(site.root / "old" / "shard-00000.safetensors"):
        for guard in ("not_held", "confined", "known_members", "unleased", "no_hold", "all", "*"):
            said = site("reclaim", name, "--yes", "--reason", "x", "--waive", guard)
            assert said.code in (2, REFUSED), said
            assert guard in said.stderr

    assert site.quarantined() == []


def test_a_replaced_volume_at_the_same_place_is_refused(volumes: VolumeFactory, site_on: SiteFactory) -> None:
    volume = volumes(FilesystemKind.EXT4)
    site = site_on(volume)
    name = site.superseded("old")
    other = volumes(FilesystemKind.EXT4)
    subprocess.run(["cp", "-a", f"{volume.mount}/.", other.mount], check=True)

    with holders.bind_mount(other.mount, volume.mount):
        before = picture(site.root / "old")
        said = site("reclaim", name, "--yes", "--reason", "test", "--purge-now")
        assert said.code in (2, REFUSED), said
        assert picture(site.root / "old") == before


def test_a_waiver_is_never_taken_from_the_environment_or_guessed(site: Site) -> None:
    site.dump("only")
    site.done("scan", ROOT_NAME)
    eager = replace(site, cli=replace(site.cli, extra_environment={"ARTIFACTCTL_WAIVE": "recoverable"}))

    assert eager("reclaim", "vol/only", "--yes", "--reason", "test").code == REFUSED
    assert (site.root / "only").is_dir()


def test_a_hold_that_an_older_catalog_file_does_not_know_still_keeps_it(site: Site, tmp_path: Path) -> None:
    """Somebody copied a backup over the catalog by hand: lineage and epoch are the same, only the root tells."""
    site.superseded("old")
    site.superseded("other")
    site.done("catalog", "backup", tmp_path / "backup.db")
    site.done("hold", "add", "vol/old", "--reason", "for the paper")
    catalog = site.cli.home / "state" / "artifactctl" / "catalog.db"
    for log in ("-wal", "-shm"):
        catalog.with_name(catalog.name + log).unlink(missing_ok=True)
    catalog.write_bytes((tmp_path / "backup.db").read_bytes())

    refused = site("reclaim", "vol/old", "--yes", "--reason", "test", "--purge-now")

    assert refused.code == 4
    assert "for the paper" in refused.stdout
    assert (site.root / "old").is_dir()
    site.done("doctor", "--repair", "--yes")
    assert site("reclaim", "vol/old", "--yes", "--reason", "test", "--purge-now").code == REFUSED
    site.done("reclaim", "vol/other", "--yes", "--reason", "test", "--purge-now")


@pytest.mark.parametrize("mapped", [False, True], ids=["open for writing", "mapped for writing"])
def test_a_successor_that_somebody_could_be_writing_to_proves_nothing(site: Site, mapped: bool) -> None:
    name = site.superseded("old")
    held = holders.writable_mapping if mapped else holders.writable_descriptor
    shard = site.root / "old-new" / "shard-00000.safetensors"

    with held(shard) as pid:
        refused(site, name, "recoverable", str(pid), shard.name, "old-new")
    with holders.mapping(shard):  # a reader
        assert site.set_aside(name)["outcome"] == "quarantined"

    with held(shard) as pid:
        said = site("quarantine", "purge", name, "--yes", "--json")
        assert said.code == REFUSED
        assert str(pid) in json.dumps(said.json()["steps"][0]["evidence"])
    site.done("quarantine", "purge", name, "--yes")


def test_content_that_a_mapping_changes_after_the_last_visible_change_is_never_verified(site: Site) -> None:
    """A page dirtied before `verify` takes further writes without any new time: only the mapping itself shows them."""
    name = site.superseded("old")
    shard = site.root / "old-new" / "shard-00000.safetensors"
    with shard.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[-1:] = b"1"
        during = site("verify", f"{name}-new", "--json")
        before = shard.stat()
        mapped[-1:] = b"2"
        assert shard.stat().st_ctime_ns == before.st_ctime_ns

    assert during.code == 3
    assert str(os.getpid()) in json.dumps(during.json()["results"][0]["problems"])
    refused(site, name, "recoverable", "has not been verified since its last change")
    site.done("verify", f"{name}-new")
    assert site.set_aside(name)["outcome"] == "quarantined"
