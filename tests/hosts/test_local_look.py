"""Small questions to this machine."""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import vermin

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import MarkerState, Observation
from artifactctl.hosts import sightings
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe import observing
from artifactctl.hosts.probe.observing import observe_path
from tests.bench.pythons import python_of

OLDEST_PYTHON = python_of("3.8")


def test_the_probe_is_written_in_python_3_8() -> None:
    folder = Path(observing.__file__).parent
    files = sorted(folder.glob("*.py"))

    for file in files:
        ast.parse(file.read_text(), filename=str(file), feature_version=(3, 8))
        oldest = vermin.detect(file.read_text())[1]  # by what it takes from the standard library
        assert oldest is not None
        assert oldest <= (3, 8), file.name
    assert len(files) > 20
    assert vermin.detect("import functools; functools.cache(f)")[1] == (3, 9)  # it would notice


def test_the_machine_names_itself() -> None:
    identity = LocalHost(stand_in_machine_id="stand-in").identify()

    assert identity.machine_id
    assert identity.hostname == os.uname().nodename
    assert len(identity.boot_id) == 36


def test_the_clock_is_aware_and_right() -> None:
    assert abs((LocalHost().now() - datetime.now(UTC)).total_seconds()) < 5


@pytest.mark.parametrize(
    ("nanoseconds", "year"), [(0, 1970), (2**63 - 1, 2262), (10**21, 9999), (-(10**21), 1)], ids=str
)
def test_an_impossible_time_is_the_end_of_the_calendar(nanoseconds: int, year: int) -> None:
    assert sightings.instant(nanoseconds).year == year


def test_resolve_follows_nothing_and_names_the_first_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    base = os.fsencode(tmp_path)

    assert LocalHost().resolve(base + b"/real/../real/./inner/") == (base + b"/real/inner", None)
    assert LocalHost().resolve(base + b"/link/inner") == (base + b"/link/inner", base + b"/link")
    assert LocalHost().resolve(base + b"/nowhere/at/all") == (base + b"/nowhere/at/all", None)


def test_identity_is_that_of_the_link_and_none_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")

    found = LocalHost().identity(os.fsencode(tmp_path / "link"))

    assert found is not None
    assert found.inode == (tmp_path / "link").lstat().st_ino
    assert LocalHost().identity(os.fsencode(tmp_path / "nothing" / "there")) is None
    assert LocalHost().identity(os.fsencode(tmp_path / "file" / "below")) is None


def test_a_new_file_on_an_old_inode_number_is_another_identity(tmp_path: Path) -> None:
    path = tmp_path / "file"
    seen = set()
    for _ in range(5):
        path.touch()
        seen.add(LocalHost().identity(os.fsencode(path)))
        path.unlink()
        time.sleep(0.01)  # the filesystem's clock ticks every few milliseconds

    assert len(seen) == 5


def test_a_range_and_a_digest_of_a_file(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "file").write_bytes(content)
    path = os.fsencode(tmp_path / "file")
    told: list[int] = []

    assert LocalHost().read_range(path, 1000, 2_000_000) == content[1000:2_001_000]
    assert LocalHost().read_range(path, 2_999_990, 100) == content[-10:]
    assert LocalHost().digest(path, progress=told.append) == hashlib.sha256(content).hexdigest()
    assert sum(told) == len(content)


@pytest.mark.parametrize("name", ["link", "pipe", "folder", "/dev/zero", "gone"])
def test_only_regular_files_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(HostFailure):
        LocalHost().read_range(os.fsencode(tmp_path / name), 0, 1)


def root_at(path: Path) -> Root:
    usage = LocalHost().usage(os.fsencode(path))
    return Root(
        root_id="0a1b",
        name="scratch",
        host_id=1,
        path=os.fsencode(path),
        filesystem_uuid=usage.filesystem_uuid,
        filesystem_type=usage.filesystem_type,
        inode=path.stat().st_ino,
    )


def observed(root: Root, relative: bytes = b"target") -> Observation:
    target = ManagedPath(root=root.path, relative=relative)
    return LocalHost().observe(root, target, catalog_id="catalog", catalog_epoch=3)


def marked(path: Path, **changes: object) -> Observation:
    root = root_at(path)
    marker = {
        "root_id": root.root_id,
        "name": root.name,
        "catalog_id": "catalog",
        "catalog_epoch": 3,
        "filesystem_uuid": root.filesystem_uuid,
        "inode": root.inode,
        **changes,
    }
    (path / ".artifactctl").mkdir()
    (path / ".artifactctl" / "root.json").write_text(json.dumps(marker))
    return observed(root)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, MarkerState.MATCHES),
        ({"root_id": "other"}, MarkerState.FOREIGN),
        ({"catalog_id": "other"}, MarkerState.FOREIGN),
        ({"catalog_epoch": 2}, MarkerState.FOREIGN),
        ({"inode": 1}, MarkerState.CLONED),
        ({"filesystem_uuid": "other"}, MarkerState.CLONED),
        ({"inode": "x"}, MarkerState.UNREADABLE),
    ],
    ids=lambda value: str(value),
)
def test_the_marker_is_compared_with_root_and_catalog(
    tmp_path: Path, changes: dict[str, object], state: MarkerState
) -> None:
    assert marked(tmp_path, **changes).confinement.marker is state


def test_a_root_without_marker_or_with_a_broken_one_says_so(tmp_path: Path) -> None:
    assert observed(root_at(tmp_path)).confinement.marker is MarkerState.MISSING

    (tmp_path / ".artifactctl").mkdir()
    (tmp_path / ".artifactctl" / "root.json").write_text("{")

    assert observed(root_at(tmp_path)).confinement.marker is MarkerState.UNREADABLE


def test_nothing_there_is_no_identity_and_no_clear_look_for_holders(tmp_path: Path) -> None:
    seen = observed(root_at(tmp_path))

    assert seen.identity is None
    assert seen.tree is None
    assert seen.holders.blind_spots
    assert not seen.holders.leases_settle_openers


@pytest.mark.parametrize("relative", [b"link/target", b"link"])
def test_a_link_on_the_way_is_named(tmp_path: Path, relative: bytes) -> None:
    (tmp_path / "real" / "target").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    assert observed(root_at(tmp_path), relative).confinement.symlinked_component == os.fsencode(tmp_path / "link")


def test_an_absolute_link_to_the_old_place_stays_inside_after_a_move(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    (tmp_path / "old" / "link").symlink_to(tmp_path / "old" / "file")
    (tmp_path / "old").rename(tmp_path / "new")
    root, old = os.fsencode(tmp_path), os.fsencode(tmp_path / "old")

    assert observe_path(root, b"new")["tree"]["escaping_links"] == [["link", str(tmp_path / "old" / "file")]]
    assert observe_path(root, b"new", also_known_as=[old])["tree"]["escaping_links"] == []


WRITER = """
import os, sys, time
with open(sys.argv[1], 'wb', buffering=0) as file:
    print('ready', flush=True)
    while True:
        file.write(os.urandom(100_000))
        os.fsync(file.fileno())
        time.sleep(0.05)
"""


def test_a_writer_is_named_with_its_file_and_its_rate(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITER, str(tmp_path / "shard")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        activity = LocalHost().activity(os.fsencode(tmp_path), seconds=0.5)
        child.kill()

    (writer,) = [writer for writer in activity.writers if writer.pid == child.pid]
    assert writer.writes_here
    (shard,) = [file for file in writer.files if file.path == os.fsencode(tmp_path / "shard")]
    assert 0 < shard.grown_bytes < 2 * shard.size_bytes


@pytest.mark.skipif(OLDEST_PYTHON is None, reason="no Python 3.8 here")
def test_the_probe_runs_on_python_3_8(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "\udcff").write_bytes(b"x")
    code = (
        "import os, sys, json, pkgutil, importlib\n"
        "import artifactctl.hosts.probe as probe\n"
        "for module in pkgutil.iter_modules(probe.__path__): importlib.import_module(probe.__name__+'.'+module.name)\n"
        "from artifactctl.hosts.probe import walking, observing, volumes, links, activity\n"
        "path = os.fsencode(sys.argv[1])\n"
        "parts = list(walking.walk(path)); seen = observing.observe_path(path, b'target')\n"
        "activity.sample_growth(path, 0.01); links.referrers([path], [path])\n"
        "json.dumps(volumes.usage(path)); print(json.dumps([len(parts), seen['tree']['fingerprint']]))\n"
    )
    # outside of this checkout's 3.11-only modules: the package is copied as it would be sent
    package = tmp_path / "sent" / "artifactctl" / "hosts"
    source = Path(sightings.__file__).parent / "probe"
    shutil.copytree(source, package / "probe", ignore=shutil.ignore_patterns("__pycache__"))
    assert OLDEST_PYTHON is not None
    done = subprocess.run(
        [OLDEST_PYTHON, "-c", code, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path / "sent"), "PATH": os.environ["PATH"]},
    )
    here = observe_path(os.fsencode(tmp_path), b"target")
    assert json.loads(done.stdout)[1] == here["tree"]["fingerprint"]
