"""A local volume that this machine shows to others counts as shared: what they have open need not be open here."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from artifactctl.domain.observation import BlindSpotKind
from artifactctl.hosts.local import LocalHost
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system


@contextmanager
def running(program: str, *words: str | Path, folder: Path) -> Iterator[None]:
    """Run a process whose name and command line are those of a server."""
    script = folder / program
    script.write_text("#!/bin/sh\necho up\nread line\n", encoding="utf-8")
    script.chmod(0o755)
    with subprocess.Popen([script, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate()


def exported(path: Path) -> list[str]:
    report = LocalHost().holders(os.fsencode(path))
    found = [spot.detail for spot in report.blind_spots if spot.kind is BlindSpotKind.EXPORTED]
    assert report.lease_answers_for_all_openers is not bool(found)
    return found


def test_what_is_shown_to_a_virtual_machine_is_shared_and_the_rest_is_not(ext4_volume: Volume, tmp_path: Path) -> None:
    shown, beside = ext4_volume.mount / "shown", ext4_volume.mount / "beside"
    for folder in (shown, beside):
        folder.mkdir()
        (folder / "shard").write_bytes(b"x")
    assert exported(shown) == []

    with running("virtiofsd", "--shared-dir", shown, folder=tmp_path):
        (told,) = exported(shown)
        assert "with a virtual machine" in told
        assert exported(beside) == []
    with running("qemu-system-x86_64", "-virtfs", f"local,path={shown},mount_tag=t", folder=tmp_path):
        assert len(exported(shown)) == 1
        assert exported(beside) == []
    assert exported(shown) == []


@pytest.mark.parametrize("server", ["ganesha.nfsd", "smbd", "diod", "unfsd"])
def test_a_file_server_counts_by_running(ext4_volume: Volume, tmp_path: Path, server: str) -> None:
    (ext4_volume.mount / "shard").write_bytes(b"x")

    with running(server, folder=tmp_path):
        assert len(exported(ext4_volume.mount)) == 1
