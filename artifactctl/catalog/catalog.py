"""Opening, making and holding a catalog."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import RootTransaction, insert, select
from sqlalchemy.exc import DBAPIError

from artifactctl.catalog import ballast, members, root_leases, versions
from artifactctl.catalog.engine import Engines, connect
from artifactctl.catalog.explaining import explained
from artifactctl.catalog.failures import CatalogMissing, CommitUnknown, RoleMissing
from artifactctl.catalog.filesystem import is_usable_file, prepare_files, why_not_permitted
from artifactctl.catalog.gate import OPEN, Doorkeeper, Gate
from artifactctl.catalog.identity_changes import note_change, require_fit
from artifactctl.catalog.location import Location, parse_location
from artifactctl.catalog.members import Member
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.schema import catalog_identity
from artifactctl.catalog.sqlite import keep_spare_pages, may_lack_space
from artifactctl.catalog.writing import Writing
from artifactctl.domain.roles import Act, Identity, Permission
from artifactctl.domain.uptime import Uptime

LOCK_WAIT_SECONDS = 15.0
"""How long a writer waits for another one before it is `Busy`."""


class Catalog:
    """An open catalog. `lineage_id` was drawn when it was made; `epoch` is raised when a backup takes its place."""

    def __init__(self, engines: Engines, location: Location, *, now: datetime, gate: Gate) -> None:
        self._engines = engines
        self._where = location
        self._gate = gate
        self._has_written = False
        self._fences: dict[str, int] = {}
        self._uptime: Callable[[], Uptime] | None = None
        self.location = location.shown
        with self.reading() as reading:
            identity = reading.identity()
        self.lineage_id = identity.lineage_id
        self.epoch = identity.epoch
        self.clock_is_behind = now < identity.written_at
        """Whether the clock is behind the last write: nothing may expire by such a clock."""

    @property
    def is_on_a_server(self) -> bool:
        """Whether a database server keeps it, which knows its users, and not a file."""
        return self._where.path is None

    @property
    def file(self) -> Path | None:
        """The file that the catalog is, None when it is on a server."""
        return self._where.path

    @property
    def has_written(self) -> bool:
        """Whether anything was changed through this object."""
        return self._has_written

    def measure_by(self, uptime: Callable[[], Uptime]) -> "Catalog":
        """Let the uptime of this machine speak, beside the clock, of what promises of it are over; returns itself."""
        self._uptime = uptime
        return self

    def look_up_epoch(self) -> int:
        """Read the epoch again, after it was raised, and return it."""
        with self.reading() as reading:
            self.epoch = reading.identity().epoch
        return self.epoch

    def close(self) -> None:
        """Close every connection."""
        try:
            if self._has_written:
                _keep_reserves(self._engines, self._where)
        finally:
            self._engines.dispose()

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Look at one consistent state; writers go on meanwhile and are not seen."""
        with explained(self._where), self._engines.readers.connect() as connection:
            yield Reading(connection, uptime=self._uptime)

    @contextmanager
    def writing(self, actor: str, now: datetime) -> Iterator[Writing]:
        """Change the catalog in one transaction, committed at the end unless an exception passes.

        `Busy` when another writer keeps the lock. No look at a disk or a machine belongs inside. RoleMissing, recorded
        in a transaction of its own, when whoever has the catalog open may not do what was asked for.
        """
        try:
            with self._write(actor, now) as writing:
                yield writing
        except RoleMissing as refusal:
            if self._gate.doorkeeper is not None:
                with self._write(actor, now) as writing:
                    self._gate.doorkeeper.record_refusal(writing.connection, refusal, actor=actor, now=now)
            raise

    @contextmanager
    def _write(self, actor: str, now: datetime) -> Iterator[Writing]:
        with explained(self._where), self._engines.writers.connect() as connection, connection.begin() as transaction:
            require_fit(connection, self.location)
            root_leases.require_held(connection, self._fences, now)
            note_change(connection, now)
            self._has_written = True
            yield Writing(connection, actor=actor, now=now, gate=self._gate, uptime=self._uptime)
            _commit(transaction, self.location)

    def require_in_force(self) -> None:
        """Raise CatalogMoved where it says where it went; each transaction asks that again."""
        with self.reading() as reading:
            require_fit(reading.connection, self.location)

    def permission(self, act: Act) -> Permission:
        """Return whether whoever has the catalog open may do an act now."""
        with self.reading() as reading:
            return self._gate.permission(reading.connection, act)

    def who_acts(self) -> Identity | None:
        """Return who has the catalog open, as the roles see it; None where nobody can say."""
        with self.reading() as reading:
            return self._gate.identity(reading.connection)

    def require(self, act: Act, actor: str, now: datetime, *, about: str = "") -> None:
        """Refuse an act before anything else is asked or done; the transaction that does it asks again.

        RoleMissing, recorded. Writes nothing when the act may be done.
        """
        if not self.permission(act).is_given:
            with self.writing(actor, now) as writing:
                writing.require(act, about=about)

    @contextmanager
    def acting_under(self, root_id: str, fence: int) -> Iterator[None]:
        """Let every transaction meanwhile prove, and prolong, the lease on a root; RootTakenOver when it is lost."""
        self._fences[root_id] = fence
        try:
            yield
        finally:
            self._fences.pop(root_id, None)

    def give_root_back(self, root_id: str, fence: int, *, actor: str, now: datetime) -> None:
        """Release the lease on a root, in a transaction that proves nothing: it may be lost by now."""
        self._fences.pop(root_id, None)
        with self.writing(actor, now) as writing:
            writing.give_root_back(root_id, fence)

    def list_members(self, listing: Iterable[Member], *, now: datetime) -> int:
        """Store a list of members in many short transactions; `Writing.adopt_members` gives it to an artifact."""
        with explained(self._where):
            self._has_written = True
            return members.list_members(self._engines.writers, listing, now)


def open_catalog(
    location: str | Path,
    *,
    now: datetime,
    lock_wait_seconds: float = LOCK_WAIT_SECONDS,
    doorkeeper: Doorkeeper | None = None,
) -> Catalog:
    """Open the catalog at a path or URL; it must exist in this program's version. Changes nothing.

    Without a doorkeeper nobody can say who acts, and where roles are in force nothing that takes one is done.
    """
    where = parse_location(location)
    gate = Gate(doorkeeper=doorkeeper, path=where.path)
    return _open(where, now=now, lock_wait_seconds=lock_wait_seconds, gate=gate)


def open_trial(location: Path, *, now: datetime) -> Catalog:
    """Open a copy that is thought with and then forgotten: nothing in it takes a role."""
    return _open(parse_location(location), now=now, lock_wait_seconds=LOCK_WAIT_SECONDS, gate=OPEN)


def _open(where: Location, *, now: datetime, lock_wait_seconds: float, gate: Gate) -> Catalog:
    if where.path is not None and not is_usable_file(where.path):
        raise CatalogMissing(f"there is no catalog at {where.shown}", remedy="artifactctl init")
    engines = connect(where, lock_wait_seconds=lock_wait_seconds)
    try:
        versions.require_current(_first_look(engines, where), where.shown)
        return Catalog(engines, where, now=now, gate=gate)
    except BaseException:
        engines.dispose()
        raise


def create_or_upgrade(
    location: str | Path,
    *,
    now: datetime,
    lock_wait_seconds: float = LOCK_WAIT_SECONDS,
    doorkeeper: Doorkeeper | None = None,
) -> Catalog:
    """Open the catalog, making it or bringing it to this program's version first. A newer one is refused untouched."""
    where = parse_location(location)
    if where.path is not None and not is_usable_file(where.path):
        prepare_files(where.path)
    engines = connect(where, lock_wait_seconds=lock_wait_seconds)
    try:
        found = _first_look(engines, where)
        if found is not None:
            versions.refuse_newer(found, where.shown)
        if found != versions.CURRENT:
            with explained(where):
                _bring_up(engines, now)
        _keep_reserves(engines, where)
        return Catalog(engines, where, now=now, gate=Gate(doorkeeper=doorkeeper, path=where.path))
    except BaseException:
        engines.dispose()
        raise


def _first_look(engines: Engines, where: Location) -> str | None:
    """Return the version of the catalog. On a full disk, opening it may take a piece of the ballast."""
    with explained(where):
        try:
            with engines.readers.connect() as connection:
                return versions.stored_version(connection)
        except DBAPIError as error:
            if where.path is None or not may_lack_space(error) or why_not_permitted(where.path):
                raise
            if not ballast.release(where.path):
                raise
        engines.dispose()
        with engines.readers.connect() as connection:
            return versions.stored_version(connection)


def _keep_reserves(engines: Engines, where: Location) -> None:
    if where.path is None:
        return
    with explained(where):
        keep_spare_pages(engines.writers)
    ballast.fill(where.path)


def _commit(transaction: RootTransaction, shown: str) -> None:
    try:
        transaction.commit()
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        raise CommitUnknown(
            f"the connection to the catalog {shown} broke as a change was recorded: whether it was, is not known",
            remedy="`artifactctl doctor` shows what was left unfinished, `artifactctl audit ls` what was recorded",
        ) from error


def _bring_up(engines: Engines, now: datetime) -> None:
    # Imported here since opening a current catalog must not pay for Alembic.
    from artifactctl.catalog.upgrading import upgrade

    with engines.writers.begin() as connection:
        versions.stored_version(connection)  # once more, now that nobody else can be making one
        upgrade(connection)
        if connection.execute(select(catalog_identity.c.id)).first() is None:
            connection.execute(
                insert(catalog_identity).values(
                    id=1,
                    lineage_id=str(uuid.uuid4()),
                    epoch=1,
                    revision=1,
                    created_at=now,
                    written_at=now,
                    lineage_confirmed_at=now,
                )
            )
