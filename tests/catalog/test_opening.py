"""What happens at the door: missing, foreign, older, newer and damaged catalogs, unsafe places, private files."""

import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from artifactctl.catalog import (
    CatalogDamaged,
    CatalogMissing,
    CatalogOutdated,
    CatalogTooNew,
    CatalogUnusable,
    NotACatalog,
    UnsafeFilesystem,
    create_or_upgrade,
    open_catalog,
    versions,
)
from artifactctl.catalog.filesystem import filesystem_type, refuse_unsafe_filesystem, type_of_mount
from artifactctl.catalog.location import parse_location
from artifactctl.domain.errors import UsageError
from tests.bench.databases import ON_SQLITE


def test_a_missing_catalog_is_missing_and_the_remedy_is_init(tmp_path, noon):
    with pytest.raises(CatalogMissing) as refusal:
        open_catalog(tmp_path / "catalog.db", now=noon)

    assert str(tmp_path / "catalog.db") in refusal.value.message
    assert refusal.value.remedy == "artifactctl init"
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_missing_catalog_and_init_fills_it(tmp_path, noon):
    (tmp_path / "catalog.db").touch()

    with pytest.raises(CatalogMissing):
        open_catalog(tmp_path / "catalog.db", now=noon)

    create_or_upgrade(tmp_path / "catalog.db", now=noon).close()
    open_catalog(tmp_path / "catalog.db", now=noon).close()


@pytest.mark.parametrize("opener", [open_catalog, create_or_upgrade])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path, noon, opener):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, " * 100)
    before = file.read_bytes()

    with pytest.raises(NotACatalog):
        opener(file, now=noon)

    assert file.read_bytes() == before


@pytest.mark.parametrize("opener", [open_catalog, create_or_upgrade])
def test_a_database_of_something_else_is_refused_and_kept(tmp_path, noon, opener):
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE songs (title)")
    connection.commit()
    connection.close()
    before = file.read_bytes()

    with pytest.raises(NotACatalog):
        opener(file, now=noon)

    assert file.read_bytes() == before


@pytest.mark.parametrize("opener", [open_catalog, create_or_upgrade])
def test_a_catalog_of_a_newer_version_is_refused_untouched(location, noon, opener):
    create_or_upgrade(location, now=noon).close()
    _set_version(location, "9999")
    before = _content(location.parent)

    with pytest.raises(CatalogTooNew) as refusal:
        opener(location, now=noon)

    assert "9999" in refusal.value.message
    assert "upgrade" in refusal.value.remedy
    assert _content(location.parent) == before


def test_a_catalog_of_an_older_version_asks_for_init(location, noon):
    catalog = create_or_upgrade(location, now=noon)
    with catalog.reading() as reading:
        found = versions.stored_version(reading.connection)
    catalog.close()

    with pytest.raises(CatalogOutdated) as refusal:
        versions.require_current(found, catalog.location, known=(*versions.KNOWN, "a later one"))

    assert versions.CURRENT in refusal.value.message
    assert refusal.value.remedy.startswith("artifactctl init")


def test_a_damaged_catalog_is_never_made_anew(location, noon):
    create_or_upgrade(location, now=noon).close()
    for sidecar in ("-wal", "-shm"):
        location.with_name(location.name + sidecar).unlink()
    with location.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 8_000)
    before = location.read_bytes()

    for opener in (open_catalog, create_or_upgrade):
        with pytest.raises(CatalogDamaged) as refusal:
            opener(location, now=noon)
        assert "do not delete" in refusal.value.remedy

    assert location.read_bytes() == before


def test_making_a_catalog_twice_keeps_its_identity(location, noon):
    first = create_or_upgrade(location, now=noon)
    first.close()
    second = create_or_upgrade(location, now=noon)
    second.close()
    third = open_catalog(location, now=noon)
    third.close()

    assert first.lineage_id == second.lineage_id == third.lineage_id
    assert (first.epoch, third.epoch) == (1, 1)
    assert third.location == str(location)


def test_the_catalog_is_private_even_under_a_generous_umask(location, noon):
    previous = os.umask(0)
    try:
        create_or_upgrade(location, now=noon).close()
    finally:
        os.umask(previous)

    assert stat.S_IMODE(location.parent.stat().st_mode) == 0o700
    for entry in location.parent.rglob("*"):
        assert stat.S_IMODE(entry.stat().st_mode) == (0o700 if entry.is_dir() else 0o600)


def test_a_clock_behind_the_last_write_is_noticed(location, noon):
    catalog = create_or_upgrade(location, now=noon)
    with catalog.writing("ada", noon + timedelta(hours=2)):
        pass
    catalog.close()

    behind = open_catalog(location, now=noon + timedelta(hours=1))
    right = open_catalog(location, now=noon + timedelta(hours=2))
    behind.close()
    right.close()

    assert (behind.clock_is_behind, right.clock_is_behind) == (True, False)


def test_reading_leaves_every_file_as_it_was(location, noon):
    catalog = create_or_upgrade(location, now=noon)
    with catalog.writing("ada", noon) as writing:
        writing.add_host("here", machine_id="m")
    catalog.close()
    before = _content(location.parent)

    catalog = open_catalog(location, now=noon)
    with catalog.reading() as reading:
        assert reading.host("here") is not None
        with pytest.raises(OperationalError, match="readonly"):
            reading.connection.execute(text("UPDATE catalog_identity SET epoch = 7"))
    catalog.close()

    assert _content(location.parent) == before


def test_the_grown_log_and_the_spare_pages_outlive_the_process(location, noon):
    create_or_upgrade(location, now=noon).close()
    log = location.with_name(location.name + "-wal")
    grown = log.stat().st_size

    catalog = open_catalog(location, now=noon)
    with catalog.writing("ada", noon) as writing:
        writing.add_host("here", machine_id="m")
        spare = writing.connection.execute(text("PRAGMA freelist_count")).scalar_one()
    catalog.close()

    assert grown >= 2_000_000
    assert log.stat().st_size == grown
    assert spare >= 128


@ON_SQLITE
def test_writers_are_durable_and_check_references(empty, noon):
    with empty.writing("ada", noon) as writing:
        settings = {
            name: writing.connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }

    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_opening_a_current_catalog_does_not_import_alembic(location, noon):
    create_or_upgrade(location, now=noon).close()
    program = (
        "import sys, datetime; from artifactctl.catalog import open_catalog;"
        f"open_catalog({str(location)!r}, now=datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)).close();"
        "print(sorted({'alembic', 'sqlalchemy.orm', 'sqlalchemy.dialects.postgresql'} & set(sys.modules)))"
    )

    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout == "[]\n"


@pytest.mark.parametrize(
    "found",
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "9p",
        "lustre",
        "fuse",
        "fuse.sshfs",
        "fuseblk",
        "ceph",
        "gpfs",
        "beegfs",
        "wekafs",
    ],
)
def test_a_filesystem_where_sqlite_is_unsafe_is_named_and_refused(found):
    with pytest.raises(UnsafeFilesystem) as refusal:
        refuse_unsafe_filesystem(found, "/mnt/catalog.db")

    assert found in refusal.value.message
    assert "ARTIFACTCTL_CATALOG" in refusal.value.remedy


@pytest.mark.parametrize("found", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs"])
def test_a_local_filesystem_is_accepted(found):
    refuse_unsafe_filesystem(found, "/mnt/catalog.db")


def test_a_filesystem_that_cannot_be_told_is_refused():
    with pytest.raises(UnsafeFilesystem, match="cannot tell"):
        refuse_unsafe_filesystem(None, "/mnt/catalog.db")


def test_the_kernel_tells_the_type_of_the_very_mount():
    lines = [
        b"22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw",
        b"90 22 0:50 / /mnt/two\\040words rw - fuse.sshfs me@there:/ rw",
    ]

    assert filesystem_type(Path("/proc")) == "proc"
    assert type_of_mount(22, lines) == "ext4"
    assert type_of_mount(90, lines) == "fuse.sshfs"
    assert type_of_mount(91, lines) is None


def test_a_folder_in_place_of_the_file_is_said(tmp_path, noon):
    with pytest.raises(CatalogUnusable, match="is not a file"):
        open_catalog(tmp_path, now=noon)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "no such thing://"])
def test_a_url_that_cannot_hold_a_catalog_is_refused(url):
    with pytest.raises(UsageError) as refusal:
        parse_location(url)

    assert "postgresql://" in refusal.value.remedy


def test_a_location_is_shown_without_its_password():
    location = parse_location("postgresql://ada:secret@server/artifacts")

    assert location.path is None
    assert location.url.drivername == "postgresql+psycopg"
    assert "secret" not in location.shown


def test_a_sqlite_url_is_the_file_it_names(location, noon):
    create_or_upgrade(f"sqlite:///{location}", now=noon).close()

    open_catalog(location, now=noon).close()


def test_a_path_that_is_not_utf8_holds_a_catalog_as_well(tmp_path, noon):
    strange = tmp_path / os.fsdecode(b"st\xffte?#%41") / "catalog.db"

    create_or_upgrade(strange, now=noon).close()
    open_catalog(strange, now=noon).close()

    assert strange.is_file()


def _set_version(location: Path, version: str) -> None:
    catalog = sqlite3.connect(location)
    catalog.execute("UPDATE alembic_version SET version_num = ?", (version,))
    catalog.commit()
    catalog.close()
    # The last connection of another program removes the log; a reader makes an empty one.
    reader = sqlite3.connect(f"file:{location}?mode=ro", uri=True)
    reader.execute("SELECT 1 FROM alembic_version").fetchone()
    reader.close()


def _content(folder: Path) -> dict[str, str]:
    """Digests of all files but `-shm`, which is shared memory and not content."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith("-shm")
    }
