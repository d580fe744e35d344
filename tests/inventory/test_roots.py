"""What can be a managed root, and what cannot."""

import os
from pathlib import Path
from typing import Any

import pytest

from artifactctl.catalog import create_or_upgrade
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.attestation import Attestation, Regime, clients_from
from artifactctl.domain.errors import UsageError
from artifactctl.inventory.failures import RootInUse, RootTaken, UnfitRoot
from artifactctl.inventory.forgetting import forget_root
from artifactctl.inventory.roots import add_root, list_roots
from tests.artifacts import hidden_states
from tests.inventory.ground import ACTOR, NOON, Ground


def add(ground: Ground, path: bytes, **options: Any):
    return add_root(ground.host, ground.catalog, path, now=NOON, actor=ACTOR, **options)


def test_a_root_carries_a_marker_and_is_recorded_with_its_filesystem(ground: Ground) -> None:
    marker = ground.host.read_marker(ground.root.path)

    assert marker is not None
    assert (marker.root_id, marker.name) == (ground.root.root_id, "scratch")
    assert marker.catalog_id == ground.catalog.lineage_id
    assert ground.root.inode == ground.data.stat().st_ino
    assert list_roots(ground.catalog) == (ground.root,)


@pytest.mark.parametrize(
    "path",
    [b"", b" ", b"/", b"//", b"/.", b"/proc", b"/proc/self", b"/sys/fs", b"/dev/shm", b"/boot", b"/usr/local", b"/etc",
     b"/var", b"/var/", b"/root", b"/home", b"/home/alice", b"data", b"./data", b"-rf", b"/tmp/../etc", b"/tmp/a\0b",
     b"/no/such/folder"],
)  # fmt: skip
def test_a_path_that_cannot_be_a_root_is_refused(ground: Ground, path: bytes) -> None:
    with pytest.raises(UnfitRoot) as refused:
        add(ground, path)

    assert refused.value.remedy
    assert list_roots(ground.catalog) == (ground.root,)


def test_a_given_home_directory_is_refused_and_a_folder_in_it_is_not(ground: Ground, tmp_path: Path) -> None:
    home = tmp_path / "people" / "alice"
    (home / "data").mkdir(parents=True)

    with pytest.raises(UnfitRoot, match="home directory"):
        add_root(ground.host, ground.catalog, bytes(home), now=NOON, actor=ACTOR, homes=(bytes(home),))

    inside = add_root(ground.host, ground.catalog, bytes(home / "data"), now=NOON, actor=ACTOR, homes=(bytes(home),))
    assert inside.name == "data"


def test_a_file_is_no_root(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(UnfitRoot, match="no folder"):
        add(ground, bytes(tmp_path / "file"))


def test_a_path_through_a_link_is_refused(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "real" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(UnfitRoot, match="link"):
        add(ground, bytes(tmp_path / "link" / "data"))


@pytest.mark.parametrize("place", ["inside", "around"])
def test_roots_do_not_overlap(ground: Ground, place: str) -> None:
    (ground.data / "inside").mkdir()
    path = ground.data / "inside" if place == "inside" else ground.data.parent

    with pytest.raises(RootTaken, match="scratch"):
        add(ground, bytes(path))


def test_a_root_beside_one_with_the_same_beginning_is_no_overlap(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "scratch2").mkdir()

    assert add(ground, bytes(tmp_path / "scratch2")).name == "scratch2"


def test_adding_a_root_again_gives_it_back(ground: Ground) -> None:
    assert add(ground, bytes(ground.data)) == ground.root
    assert ground.actions() == ["root.add"]


def test_another_catalogs_marker_is_refused_and_named(ground: Ground, tmp_path: Path) -> None:
    other = create_or_upgrade(tmp_path / "other.db", now=NOON)
    try:
        with pytest.raises(RootTaken) as refused:
            add_root(ground.host, other, bytes(ground.data), now=NOON, actor=ACTOR)
    finally:
        other.close()

    assert ground.catalog.lineage_id in refused.value.message
    assert "scratch" in refused.value.message


@pytest.mark.parametrize("name", ["-x", "a:b", "a/b", "a\nb", ".hidden", "x" * 200])
def test_a_name_that_a_root_cannot_have_is_refused(ground: Ground, tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()

    with pytest.raises(UsageError):
        add(ground, bytes(tmp_path / "other"), name=name)

    assert not os.path.exists(tmp_path / "other" / ".artifactctl")


def test_a_taken_name_is_refused_before_a_marker_is_written(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    with pytest.raises(RootTaken, match="scratch"):
        add(ground, bytes(tmp_path / "other"), name="scratch")

    assert not os.path.exists(tmp_path / "other" / ".artifactctl")


def test_a_forgotten_root_keeps_its_id_when_it_is_added_again(ground: Ground) -> None:
    forget_root(ground.catalog, "scratch", now=NOON, actor=ACTOR)
    assert list_roots(ground.catalog) == ()

    again = add(ground, bytes(ground.data))

    assert again.root_id == ground.root.root_id
    assert ground.actions() == ["root.add", "root.forget", "root.add"]


def test_a_root_with_a_leased_artifact_is_not_forgotten(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()
    artifact = ground.artifact("scratch/hs")
    with ground.catalog.writing(ACTOR, NOON) as writing:
        writing.grant_lease(
            artifact.artifact_id, owner="x", host="here", expires_at=NOON.replace(hour=13), pid=1, command="train"
        )

    with pytest.raises(RootInUse, match="leased"):
        forget_root(ground.catalog, "scratch", now=NOON, actor=ACTOR)


def test_an_unknown_root_cannot_be_forgotten(ground: Ground) -> None:
    with pytest.raises(UnknownObject):
        forget_root(ground.catalog, "nope", now=NOON, actor=ACTOR)


def test_a_folder_that_is_added_again_with_a_statement_keeps_its_id_and_tells_of_both(ground: Ground) -> None:
    before = ground.root
    stated = Attestation(regime=Regime.LEASE)

    again = add(ground, bytes(ground.data), attestation=stated)
    same = add(ground, bytes(ground.data))

    assert (again.root_id, again.attestation, same.attestation) == (before.root_id, "lease", "lease")
    assert ground.actions() == ["root.add", "root.attest"]


def test_a_list_of_machines_without_this_one_is_refused_before_anything_is_written(
    ground: Ground, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    elsewhere = Attestation(regime=Regime.SOLE_CLIENTS, clients=clients_from("another-machine"))

    with pytest.raises(UsageError, match="has the volume mounted as well"):
        add(ground, bytes(tmp_path / "more"), attestation=elsewhere)

    assert list((tmp_path / "more").iterdir()) == []
