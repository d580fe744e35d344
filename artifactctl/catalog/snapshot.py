"""A catalog in memory, filled from the records of an export: it is asked in the same words as a real one.

The records are those of `report/catalog_export.py`. What an export leaves out (members, audit, plans, the owners of
leases) is not there. Nothing is taken on trust: SnapshotDamaged where a field is missing, a word is unknown or a number
leads nowhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, create_engine, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import StaticPool

from artifactctl.catalog.failures import SnapshotDamaged
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.schema import catalog_identity, host, metadata, root
from artifactctl.catalog.schema_artifacts import artifact, lineage_edge, replica
from artifactctl.catalog.snapshot_rows import ROWS, Record, Row, root_row
from artifactctl.domain.artifacts import LineageRole

SECTIONS = tuple(ROWS)
_ROWS_AT_ONCE = 20_000
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class SnapshotCatalog:
    """Takes records in any order, then answers as the catalog did that was exported."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: dict[Table, list[Row]] = {}
        self._seen: dict[str, int] = {}
        self._superseded_by: dict[int, str] = {}

    def add(self, section: str, record: Record | None) -> None:
        """Take a record; None for a section that is there and empty. Unknown sections are left out."""
        if section not in ROWS:
            return
        number = self._seen[section] = self._seen.get(section, 0) + (record is not None)
        if record is None:
            return
        try:
            for table, row in ROWS[section](record):
                self._put(table, {"added_at": _NEVER, **row} if table is root else row)
            if section == "artifacts" and record["superseded_by"] is not None:
                self._superseded_by[record["artifact"]] = record["superseded_by"]
        except KeyError as error:
            raise SnapshotDamaged(f"record {number:,} of its {section} has no {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise SnapshotDamaged(f"record {number:,} of its {section} cannot be read: {error}") from error

    def finish(self, *, lineage_id: str, exported_at: datetime) -> Reading:
        """Return the reading, once everything is there and fits together."""
        missing = [section for section in SECTIONS if section not in self._seen]
        if missing:
            raise SnapshotDamaged(f"it has no {missing[0]}")
        self._put(
            catalog_identity,
            {"id": 1, "lineage_id": lineage_id, "epoch": 1, "revision": 1}
            | dict.fromkeys(("created_at", "written_at", "lineage_confirmed_at"), exported_at),
        )
        for table in list(self._waiting):
            self._flush(table)
        self._name_the_bearers()
        self._find_the_successors()
        self._bury_in_forgotten_roots()
        self._check_references()
        return Reading(self._connection)

    def _put(self, table: Table, row: Row) -> None:
        waiting = self._waiting.setdefault(table, [])
        waiting.append(row)
        if len(waiting) >= _ROWS_AT_ONCE:
            self._flush(table)

    def _flush(self, table: Table) -> None:
        rows = self._waiting.pop(table)
        try:
            self._connection.execute(insert(table), rows)
        except (IntegrityError, OverflowError) as error:
            reason = error.orig if isinstance(error, IntegrityError) else error
            raise SnapshotDamaged(f"its records of {table.name} contradict each other: {reason}") from error

    def _name_the_bearers(self) -> None:
        """Of several artifacts of one name the newest bears it: the others had gone before."""
        newest = select(func.max(artifact.c.id)).group_by(artifact.c.name)
        self._connection.execute(update(artifact).where(artifact.c.id.in_(newest)).values(name_passed_on=0))

    def _find_the_successors(self) -> None:
        """A successor is exported by its name; the lineage says which artifact of that name was meant."""
        child = artifact.alias("child")
        for artifact_id, name in self._superseded_by.items():
            found = self._connection.execute(
                select(func.max(child.c.id))
                .join(lineage_edge, lineage_edge.c.child_id == child.c.id)
                .where(
                    lineage_edge.c.parent_id == artifact_id,
                    lineage_edge.c.role == LineageRole.SUPERSEDES.value,
                    child.c.name == name,
                )
            ).scalar_one()
            if found is None:
                raise SnapshotDamaged(f"its lineage does not say what supersedes artifact {artifact_id}")
            self._connection.execute(
                update(artifact).where(artifact.c.id == artifact_id).values(superseded_by_id=found)
            )

    def _bury_in_forgotten_roots(self) -> None:
        """An export lists roots in use; copies that lay in others are nobody's."""
        known = select(root.c.id)
        lost = select(replica.c.root_id).where(replica.c.root_id.not_in(known)).distinct()
        for root_id in self._connection.execute(lost).scalars().all():
            self._put(root, root_row(root_id, added_at=_NEVER, forgotten_at=_NEVER))
            self._flush(root)

    def _check_references(self) -> None:
        broken = self._connection.execute(text("PRAGMA foreign_key_check")).first()
        if broken is not None:
            raise SnapshotDamaged(f"a record of {broken[0]} refers to a {broken[2]} that it does not hold")


@contextmanager
def snapshot_catalog() -> Iterator[SnapshotCatalog]:
    """Make an empty one; it is forgotten at the end."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    try:
        with engine.connect() as connection:
            metadata.create_all(connection)
            machine: dict[str, Any] = {"id": 1, "name": "exported", "machine_id": "", "address": "", "host_key": ""}
            connection.execute(insert(host), [{**machine, "uses_sudo": False, "added_at": _NEVER}])
            yield SnapshotCatalog(connection)
    finally:
        engine.dispose()
