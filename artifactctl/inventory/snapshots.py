"""Reading what `artifactctl catalog export` wrote, plain or compressed with zstandard, in place of a catalog."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from artifactctl.catalog import Reading
from artifactctl.catalog.failures import SnapshotDamaged
from artifactctl.catalog.snapshot import SECTIONS, SnapshotCatalog, snapshot_catalog
from artifactctl.domain.errors import UsageError
from artifactctl.domain.text import display_path
from artifactctl.inventory.json_stream import NotJson, fields
from artifactctl.report.catalog_export import EXPORT_SCHEMA

_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_REMEDY = "`artifactctl catalog export FILE` writes one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A catalog as it was when it was exported."""

    reading: Reading
    exported_at: datetime


@contextmanager
def open_snapshot(path: bytes) -> Iterator[Snapshot]:
    """Open an exported catalog. UsageError when it cannot be read, is something else or is damaged."""
    shown = display_path(path)
    with snapshot_catalog() as catalog:
        try:
            with Path(os.fsdecode(path)).open("rb") as file, _unpacked(file) as plain:
                snapshot = _read(plain, catalog)
        except OSError as error:
            raise UsageError(f"the snapshot {shown} cannot be read: {error.strerror}", remedy=_REMEDY) from error
        except (SnapshotDamaged, NotJson, UnicodeDecodeError) as error:
            raise SnapshotDamaged(f"the snapshot {shown} cannot be used: {_reason(error)}", remedy=_REMEDY) from error
        yield snapshot


def _reason(error: Exception) -> str:
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


@contextmanager
def _unpacked(file: BinaryIO) -> Iterator[io.TextIOWrapper]:
    import zstandard  # heavy for every other command

    beginning = file.read(len(_ZSTANDARD))
    file.seek(0)
    binary = file
    if beginning == _ZSTANDARD:
        unpacker = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        binary = cast("BinaryIO", io.BufferedReader(unpacker))
    try:
        with io.TextIOWrapper(binary, encoding="utf-8") as text:
            yield text
    except zstandard.ZstdError as error:
        raise SnapshotDamaged(f"its compression is damaged: {error}") from error


def _read(text: io.TextIOWrapper, catalog: SnapshotCatalog) -> Snapshot:
    head: dict[str, Any] = {}
    for name, value, is_element in fields(text.read):
        if is_element and name in SECTIONS:
            catalog.add(name, value)
        elif not is_element:
            head[name] = value
    schema = head.get("schema")
    if schema != EXPORT_SCHEMA:
        what = f"a document of another kind ({schema})" if isinstance(schema, str) else "no catalog export"
        raise SnapshotDamaged(f"it is {what}")
    try:
        exported_at = datetime.fromisoformat(head["exported_at"])
        lineage_id = str(head["catalog"]["lineage"])
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotDamaged(f"its head cannot be read: {error}") from error
    if exported_at.tzinfo is None:
        raise SnapshotDamaged("its head cannot be read: exported_at has no time zone")
    return Snapshot(reading=catalog.finish(lineage_id=lineage_id, exported_at=exported_at), exported_at=exported_at)
