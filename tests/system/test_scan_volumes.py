"""Scanning volumes that come and go: an unmounted source never looks empty, and mounts below a root are not entered."""

import subprocess
from pathlib import Path

import pytest

from artifactctl.catalog import create_or_upgrade
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.hosts.local import LocalHost
from artifactctl.inventory.failures import NotTheRecordedVolume
from artifactctl.inventory.roots import add_root
from artifactctl.inventory.scanning import scan
from tests.artifacts import hidden_states
from tests.bench.volumes import Volume
from tests.inventory.ground import ACTOR, NOON

pytestmark = pytest.mark.system


@pytest.fixture
def catalog(tmp_path: Path):
    made = create_or_upgrade(tmp_path / "catalog.db", now=NOON)
    yield made
    made.close()


def test_an_unmounted_volume_is_refused_and_keeps_everything_live(any_local_volume: Volume, catalog, tmp_path) -> None:
    host = LocalHost()
    hidden_states.safetensors_shards(any_local_volume.mount / "hs")
    add_root(host, catalog, bytes(any_local_volume.mount), now=NOON, actor=ACTOR, name="scratch")
    scan(host, catalog, now=NOON, actor=ACTOR)
    aside = tmp_path / "aside"
    aside.mkdir()
    subprocess.run(["mount", "--move", str(any_local_volume.mount), str(aside)], check=True)
    try:
        with pytest.raises(NotTheRecordedVolume):
            scan(host, catalog, now=NOON, actor=ACTOR)
    finally:
        subprocess.run(["mount", "--move", str(aside), str(any_local_volume.mount)], check=True)

    with catalog.reading() as reading:
        assert reading.artifact("scratch/hs").replicas[0].state is ReplicaState.LIVE
    assert scan(host, catalog, now=NOON, actor=ACTOR).missing == ()


def test_below_a_mount_inside_a_root_nothing_is_missing_or_registered(ext4_volume: Volume, catalog, tmp_path) -> None:
    host = LocalHost()
    hidden_states.safetensors_shards(ext4_volume.mount / "inner" / "hs")
    add_root(host, catalog, bytes(ext4_volume.mount), now=NOON, actor=ACTOR, name="scratch")
    scan(host, catalog, now=NOON, actor=ACTOR)
    covering = hidden_states.safetensors_shards(tmp_path / "covering" / "other").parent
    subprocess.run(["mount", "--bind", str(covering), str(ext4_volume.mount / "inner")], check=True)
    try:
        report = scan(host, catalog, now=NOON, actor=ACTOR)
    finally:
        subprocess.run(["umount", str(ext4_volume.mount / "inner")], check=True)

    assert (report.registered, report.missing) == ((), ())
