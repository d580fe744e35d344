"""Useful to the owner of the files without root, and to root on a machine with containers."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bench import holders
from tests.bench.command_line import CommandLine
from tests.bench.nobody import NOBODY, prefix_for_nobody
from tests.bench.site import Site, managed_site, picture
from tests.bench.volumes import Volume
from tests.bench.warm_command_line import WarmCommandLine, fork_server

pytestmark = pytest.mark.system


@pytest.fixture
def site_of_nobody(ext4_volume: Volume, cli_of_nobody: CommandLine) -> Iterator[Site]:
    """A root that nobody owns and manages. The server sees only mounts that were there before it, so it comes last."""
    os.chown(ext4_volume.mount, NOBODY, NOBODY)
    with fork_server(prefix=prefix_for_nobody()) as server:
        yield managed_site(
            ext4_volume, WarmCommandLine(home=cli_of_nobody.home, cwd=cli_of_nobody.cwd, server=server), owner=NOBODY
        )


def given_to_nobody(site: Site) -> str:
    """Make what may go, owned by nobody; returns its name."""
    for name in ("old", "old-new"):
        site.dump(name)
    for folder, _, files in os.walk(site.root):
        if ".artifactctl" not in folder:
            for path in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(path, NOBODY, NOBODY)
    site.done("scan", "vol")
    site.done("verify", "vol/old-new")
    site.done("supersede", "vol/old", "--by", "vol/old-new")
    return "vol/old"


def test_the_owner_without_root_can_do_everything(site_of_nobody: Site) -> None:
    site = site_of_nobody
    name = given_to_nobody(site)
    before = picture(site.root / "old")

    plan = site.done("reclaim", name, "--dry-run", "--json").json()
    evidence = {item["guard"]: item for item in plan["steps"][0]["evidence"]}
    assert evidence["not_held"]["verdict"] == "clear"
    assert "lease" in evidence["not_held"]["reason"]
    assert "process" in evidence["not_held"]["reason"]
    site.set_aside(name)
    site.done("quarantine", "restore", name)
    assert picture(site.root / "old") == before
    site.set_aside(name)
    assert site.done("quarantine", "purge", name, "--yes", "--json").json()["steps"][0]["outcome"] == "purged"
    site.done("doctor")
    event = site.done("audit", "ls", "--action", "purge.done", "--json").json()["events"][0]
    assert event["actor"].startswith("nobody@")


@pytest.mark.parametrize(
    "hold",
    [holders.descriptor, holders.mapping, holders.descriptor_in_flight, holders.loop_device],
    ids=lambda hold: hold.__name__,
)
def test_a_use_by_another_user_is_noticed_without_seeing_the_process(site_of_nobody: Site, hold: Any) -> None:
    site = site_of_nobody
    name = given_to_nobody(site)

    with hold(site.root / "old" / "shard-00000.safetensors"):
        refused = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")

    assert refused.code == 4, refused
    blocking = {item["guard"]: item for item in refused.json()["refused"][0]["evidence"] if item["verdict"] != "clear"}
    assert set(blocking) <= {"not_held", "unleased"}
    assert "shard-00000.safetensors" in str(blocking["not_held"])


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_root_wrote_is_counted_and_named_with_the_command_that_settles_it(site_of_nobody: Site, what: str) -> None:
    site = site_of_nobody
    (site.root / "old").mkdir()
    if what == "file":
        (site.root / "old" / "written-by-root.log").write_text("x")
    else:
        (site.root / "old" / "made-by-root").mkdir(mode=0o755)
        (site.root / "old" / "made-by-root" / "log").write_text("x")
    site.dump("old")
    site.dump("old-new")
    owned = [site.root, *site.root.glob("old*"), *site.root.glob("old*/*.safetensors")]
    for path in owned:
        os.chown(path, NOBODY, NOBODY)
    site.done("register", site.root / "old", "--kind", "other", "--name", "vol/old")
    before = picture(site.root / "old")

    refused = site("reclaim", "vol/old", "--yes", "--reason", "test", "--waive", "recoverable", "--json")

    assert refused.code == 4, refused
    text = str(
        [item for item in refused.json()["refused"][0]["evidence"] if item["verdict"] not in ("clear", "waived")]
    )
    assert "by-root" in text
    assert "sudo" in text or "chown" in text
    assert picture(site.root / "old") == before


def test_a_whole_successor_that_root_may_be_writing_to_is_verified_and_proves_nothing(site_of_nobody: Site) -> None:
    site = site_of_nobody
    name = given_to_nobody(site)
    for shard in (site.root / "old-new").iterdir():
        os.chown(shard, 0, 0)
        shard.chmod(0o644)
    site.done("scan", "vol", "--accept", "vol/old-new")

    verified = site.done("verify", "vol/old-new", "--json").json()["results"][0]
    refused = site("reclaim", name, "--yes", "--reason", "test", "--json")

    assert verified["ok"]
    assert "does not count as proof" in verified["reservations"][0]
    assert refused.code == 4, refused
    blocking = {item["guard"]: item for item in refused.json()["refused"][0]["evidence"] if item["verdict"] != "clear"}
    assert list(blocking) == ["recoverable"]
    assert "sudo" in blocking["recoverable"]["reason"]


def test_an_unreadable_folder_is_unknown_and_never_empty(site_of_nobody: Site) -> None:
    site = site_of_nobody
    name = given_to_nobody(site)
    secret = site.root / "old" / "secret"
    secret.mkdir(mode=0o700)
    (secret / "precious").write_text("keep me")

    refused = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")

    assert refused.code == 4, refused
    assert "secret" in refused.stdout
    assert (secret / "precious").read_text() == "keep me"
    scanned = site("scan", "vol", "--json")
    assert "secret" in scanned.stdout + scanned.stderr
    register = site("register", secret, "--kind", "other", "--name", "vol/secret")
    assert register.code != 0


def test_a_stranger_may_not_use_the_root(site: Site, cli_of_nobody: CommandLine) -> None:
    site.superseded("old")
    before = picture(site.root / "old")

    adding = cli_of_nobody("root", "add", site.root, "--yes")
    reclaiming = cli_of_nobody("reclaim", site.root / "old", "--yes", "--reason", "x", "--waive", "recoverable,settled")

    assert adding.code not in (0, 1), adding
    assert reclaiming.code not in (0, 1), reclaiming
    assert picture(site.root / "old") == before


@contextmanager
def container(folder: Path, *more: str) -> Iterator[int]:
    """A process in a mount namespace of its own that has `folder` bound to a place of its own, as containers do."""
    with holders.bind_mount_elsewhere(folder) as pid:
        yield pid


@pytest.mark.parametrize("ancestor", ["root", "volume"])
def test_a_container_that_binds_an_ancestor_does_not_block(site: Site, ancestor: str) -> None:
    name = site.superseded("old")
    bound = site.root if ancestor == "root" else site.root.parent

    with container(bound):
        site.set_aside(name)
        site.done("quarantine", "restore", name)
        purged = site.done("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json").json()

    assert purged["steps"][0]["outcome"] == "purged"


def uses_it_inside(folder: Path, member: str) -> AbstractContextManager[int]:
    script = f"mount -t tmpfs none /mnt && mkdir /mnt/d && mount --bind {folder} /mnt/d && exec 9< /mnt/d/{member}"
    code = f"{script} && echo held && cat"
    return holders.process(["unshare", "--mount", "--propagation", "private", "bash", "-c", code])


def test_a_container_that_reads_it_through_its_own_mount_blocks_and_is_named(site: Site) -> None:
    name = site.superseded("old")

    with uses_it_inside(site.root, "old/shard-00000.safetensors") as pid:
        refused = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")

    assert refused.code == 4, refused
    evidence = {item["guard"]: item for item in refused.json()["refused"][0]["evidence"]}
    assert evidence["not_held"]["verdict"] == "blocked"
    assert str(pid) in str(evidence["not_held"])


@pytest.mark.parametrize("below", ["old", "old/shard-00000.safetensors"])
def test_a_container_that_binds_the_artifact_or_something_in_it_blocks(site: Site, below: str) -> None:
    name = site.superseded("old")

    with container(site.root / below) as pid:
        refused = site("reclaim", name, "--yes", "--reason", "test", "--purge-now", "--json")

    assert refused.code == 4, refused
    evidence = {item["guard"]: item for item in refused.json()["refused"][0]["evidence"]}
    assert evidence["not_held"]["verdict"] == "blocked"
    assert str(pid) in str(evidence["not_held"])


def test_an_overlay_whose_lower_folder_it_is_blocks(site: Site, tmp_path: Path) -> None:
    name = site.superseded("old")
    for folder in ("upper", "work", "merged"):
        (site.outside / folder).mkdir()
    options = f"lowerdir={site.root / 'old'},upperdir={site.outside / 'upper'},workdir={site.outside / 'work'}"
    merged = site.outside / "merged"
    subprocess.run(["mount", "-t", "overlay", "bench", "-o", options, merged], check=True)
    try:
        with holders.descriptor(merged / "shard-00000.safetensors"):
            refused = site("reclaim", name, "--yes", "--reason", "test", "--purge-now")
            assert refused.code == 4, refused
            assert "not_held" in refused.stdout
    finally:
        subprocess.run(["umount", merged], check=True)
