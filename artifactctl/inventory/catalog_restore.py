"""Putting a backup in the catalog's place.

1. Unpack: copy the backup beside the catalog, bring it to this version, check it. Nothing is changed so far.
2. Raise the epoch of the copy above every known one and take its confirmation away; audit that, in the copy.
3. Keep the present catalog aside, whole. It is never deleted.
4. Let the catalog's content become the copy's, in one transaction.

A crash before 4 leaves the present catalog in force (one too damaged to be read: aside), a crash after it the restored
one: read-only on every root, whose
markers name an older epoch, until a person confirms it (`reclaim.confirming`).
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from artifactctl import audit
from artifactctl.catalog import (
    Catalog,
    CatalogDamaged,
    CatalogMissing,
    CatalogOutdated,
    CatalogTooNew,
    Doorkeeper,
    open_catalog,
)
from artifactctl.catalog.backups import bring_up, changing_copy, copy_whole, file_of, put_in_place, reading_copy
from artifactctl.catalog.failures import CopyFailed
from artifactctl.catalog.publishing import partial_file, publish_new, set_aside
from artifactctl.domain.artifacts import Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.backups import CatalogBackup, CatalogRestore, PresentCatalog
from artifactctl.domain.errors import Busy, UsageError
from artifactctl.domain.ledger import KnownHost
from artifactctl.domain.roles import Act
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.catalog_backup import describe_copy
from artifactctl.inventory.epochs import RootEpochs, epochs_on
from artifactctl.inventory.targets import local_roots


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """A checked copy of a backup beside the catalog whose place it may take, and what is there now."""

    copy: Path
    target: Path
    backup: CatalogBackup
    present: PresentCatalog | None


@contextmanager
def unpacked(file: bytes, location: str, *, acting: Acting, doorkeeper: Doorkeeper) -> Iterator[Unpacked]:
    """Yield the backup, checked, and what it would replace; the copy is removed at the end. Changes nothing else.

    RoleMissing where roles are in force in the present catalog: the backup may hold others, or none. A catalog that
    cannot be read asks nobody, since that is what restoring is for.
    """
    source, target = Path(os.fsdecode(file)), file_of(location)
    if not source.is_file():
        raise UsageError(f"there is no backup at {source}", remedy="`artifactctl catalog backup FILE` makes one")
    if os.path.lexists(target) and source.samefile(target):
        raise UsageError(f"{source} is the catalog itself", remedy="name a backup")
    _require_role(target, acting=acting, doorkeeper=doorkeeper)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with partial_file(target) as copy:
            copy_whole(source, copy)
            bring_up(copy)
            backup = describe_copy(copy, named=file)
            yield Unpacked(copy=copy, target=target, backup=backup, present=_present(target, copy, acting=acting))
    except OSError as error:
        raise CopyFailed(
            f"the backup {source} could not be put beside {target}: {error.strerror}",
            remedy="check that both folders can be reached and have space left",
        ) from error


def put_in_force(
    host: Host, found: Unpacked, *, reason: str, acting: Acting, elsewhere: Sequence[RootEpochs] = ()
) -> CatalogRestore:
    """Steps 2 to 4; `elsewhere` is what the roots of other machines say.

    Busy when somebody wrote to the present catalog meanwhile, or has an unreadable one open.
    """
    told = (epochs_on_roots(host, found), *elsewhere)
    known = [found.backup.identity.epoch, *(epoch for each in told for epoch in each.epochs)]
    if found.present is not None and found.present.identity is not None:
        known.append(found.present.identity.epoch)
    epoch = max(known) + 1
    aside = _free_name(found, acting) if found.present is not None else None
    with changing_copy(found.copy, actor=acting.actor, now=acting.now) as writing:
        writing.raise_epoch(epoch)
        evidence = {
            "epoch": epoch,
            "backup_epoch": found.backup.identity.epoch,
            "backup_revision": found.backup.identity.revision,
            "replaced_revision": _revision(found.present),
            "kept_as": "" if aside is None else os.fsdecode(aside.name),
        }
        entry = acting.entry(AuditAction.CATALOG_RESTORE, path=found.backup.path, reason=reason, evidence=evidence)
        audit.append(writing.connection, entry)
    if aside is not None and found.present is not None:
        _keep_aside(host, found.target, aside, found.present)
    put_in_place(found.copy, found.target)
    return CatalogRestore(
        backup=found.backup,
        replaced=found.present,
        kept_at=None if aside is None else os.fsencode(aside),
        epoch=epoch,
        unreachable_roots=tuple(sorted(name for each in told for name in each.unreachable)),
    )


def _present(target: Path, copy: Path, *, acting: Acting) -> PresentCatalog | None:
    try:
        catalog = open_catalog(target, now=acting.now)
    except CatalogMissing:
        return None
    except (CatalogDamaged, CatalogOutdated, CatalogTooNew) as unusable:
        return PresentCatalog(path=os.fsencode(target), identity=None, problem=unusable.message)
    try:
        return _compare(catalog, copy, target, acting=acting)
    finally:
        catalog.close()


def _compare(catalog: Catalog, copy: Path, target: Path, *, acting: Acting) -> PresentCatalog:
    with catalog.reading() as present, reading_copy(copy) as backup:
        operations = {operation.operation_id for operation in backup.operations()}
        holds = {(hold.artifact_name, hold.placed_at) for hold in backup.holds()}
        roots = {root.root_id for root in backup.roots()}
        return PresentCatalog(
            path=os.fsencode(target),
            identity=present.identity(),
            operations_since=sum(operation.operation_id not in operations for operation in present.operations()),
            holds_since=sum((hold.artifact_name, hold.placed_at) not in holds for hold in present.holds()),
            leases_in_force=len(present.leases(acting.now)),
            roots_since=tuple(root.name for root in present.roots() if root.root_id not in roots),
        )


def machines_told(found: Unpacked) -> tuple[tuple[KnownHost, tuple[str, ...]], ...]:
    """Return the machines that the backup or the present catalog knows, with the names of their roots."""
    machines: dict[tuple[str, str], tuple[KnownHost, tuple[str, ...]]] = {}
    for place in _readable(found):
        with reading_copy(place) as reading:
            for known in reading.hosts():
                names = tuple(root.name for root in reading.roots() if root.host_id == known.host_id)
                machines[known.machine_id, known.host_key] = (known, names)
    return tuple(machines.values())


def _readable(found: Unpacked) -> list[Path]:
    is_readable = found.present is not None and found.present.identity is not None
    return [found.copy, *([found.target] if is_readable else [])]


def epochs_on_roots(host: Host, found: Unpacked) -> RootEpochs:
    """Return the epochs in the markers of this lineage on a machine, and the roots whose marker could not be read."""
    roots: dict[str, Root] = {}
    for place in _readable(found):
        with reading_copy(place) as reading:
            roots.update({root.root_id: root for root in local_roots(host, reading)})
    epochs, unreachable = epochs_on(host, roots.values(), found.backup.identity.lineage_id)
    return RootEpochs(epochs=tuple(epochs), unreachable=tuple(unreachable))


def _keep_aside(host: Host, target: Path, aside: Path, present: PresentCatalog) -> None:
    try:
        with partial_file(aside) as copy:
            copy_whole(target, copy)
            _refuse_written_meanwhile(target, present)
            publish_new(copy, aside)
    except CatalogDamaged as damaged:
        users = [
            holder for holder in host.holders(os.fsencode(target)).holders if holder.pid not in (None, os.getpid())
        ]
        if users:
            raise Busy(
                f"process {users[0].pid} ({users[0].command}) has the damaged catalog {target} open",
                remedy="end it, then restore again: closing a damaged catalog could remove the log of the new one",
            ) from damaged
        set_aside(target, aside)


def _refuse_written_meanwhile(target: Path, present: PresentCatalog) -> None:
    if present.identity is None:
        return
    with reading_copy(target) as reading:
        revision = reading.revision()
    if revision != present.identity.revision:
        raise Busy(f"somebody wrote to the catalog {target} meanwhile; nothing was changed", remedy="restore again")


def _revision(present: PresentCatalog | None) -> int | None:
    return present.identity.revision if present is not None and present.identity is not None else None


def _free_name(found: Unpacked, acting: Acting) -> Path:
    """Return a name beside the catalog that says when it was replaced."""
    stamp = f"{found.target.name}.replaced-{acting.now:%Y%m%dT%H%M%SZ}"
    for suffix in ("", *(f"-{number}" for number in range(2, 1000))):
        candidate = found.target.with_name(stamp + suffix)
        if not os.path.lexists(candidate):
            return candidate
    raise CopyFailed(f"{found.target.parent} is full of replaced catalogs", remedy="move some of them away")


def _require_role(target: Path, *, acting: Acting, doorkeeper: Doorkeeper) -> None:
    """Refuse, audited in the present catalog, whoever may not let a backup take its place."""
    try:
        catalog = open_catalog(target, now=acting.now, doorkeeper=doorkeeper)
    except (CatalogMissing, CatalogDamaged, CatalogOutdated, CatalogTooNew):
        return
    try:
        catalog.require(Act.REPLACE_CATALOG, acting.actor, acting.now, about=os.fsdecode(target))
    finally:
        catalog.close()
