"""A person takes a restored catalog into force: what happened since the backup is taken in, then the roots are told.

An older file that was copied over the catalog's own is taken into force in the same way, as an epoch of its own.

1. Raise the epoch once more where a root is already at this one: another restored copy may have been confirmed there.
2. For each root, under its lock: take in what its journal and its mirrors know and this catalog does not.
3. Write the epoch into the root's marker: from here on this catalog may act there, and no other epoch may.
4. When all reachable roots are done, record that the lineage is confirmed.

A crash anywhere leaves the catalog unconfirmed or a root at an older epoch; confirming again goes on from there. Holds
are never lost: they are placed again (2) before the root's own list of them is written anew (after 3).
"""

from dataclasses import dataclass, replace

from artifactctl import audit
from artifactctl.domain.artifacts import Root
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.operations import OperationRecord
from artifactctl.domain.roles import Act
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.catalog_heads import head_of, roots_ahead, write_head
from artifactctl.inventory.held_again import place_again
from artifactctl.inventory.holding import mirror_holds
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.mirrored_holds import MirroredHold, read_holds, unknown_holds
from artifactctl.reclaim.importing import import_operation, import_purge, purged_elsewhere, strangers
from artifactctl.reclaim.locking import mirror_operations
from artifactctl.reclaim.workplace import Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class RootBehind:
    """A reachable root that an earlier epoch is in charge of, with what it knows and this catalog does not."""

    root: Root
    epoch: int
    aside: tuple[OperationRecord, ...]
    purged: tuple[OperationRecord, ...]
    holds: tuple[MirroredHold, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaiting:
    """What waits for a person's confirmation.

    `older_than_seen` are sentences about roots that have seen more of this catalog than there is of it; such a one is
    not `is_confirmed`, whatever it says of itself.
    """

    epoch: int
    is_confirmed: bool
    older_than_seen: tuple[str, ...]
    roots: tuple[RootBehind, ...]
    unreachable: tuple[str, ...]


def awaiting(workplace: Workplace) -> Awaiting | None:
    """Return what waits to be confirmed, None when nothing does; changes nothing."""
    with workplace.catalog.reading() as reading:
        identity = reading.identity()
        roots = roots_here(reading, workplace.host.identify())
        ahead = tuple(item.why for item in roots_ahead(workplace.host, reading) if not item.is_denied)
    is_confirmed = identity.is_confirmed and not ahead
    behind, unreachable = [], []
    for root in [each for each in roots if each.is_marked]:
        epoch = _epoch_on(workplace, root)
        if epoch is None:
            unreachable.append(root.name)
        elif epoch < identity.epoch or not is_confirmed:
            behind.append(_look(workplace, root, epoch))
    if is_confirmed and not behind:
        return None
    return Awaiting(
        epoch=identity.epoch,
        is_confirmed=is_confirmed,
        older_than_seen=ahead,
        roots=tuple(behind),
        unreachable=tuple(unreachable),
    )


def confirm(workplace: Workplace, waiting: Awaiting) -> tuple[str, ...]:
    """Carry out steps 1 to 4 and return one sentence for each thing that was taken in. It takes a role."""
    workplace.require(Act.CONFIRM_CATALOG)
    epoch = _settle_epoch(workplace, waiting)
    done: list[str] = []
    for behind in waiting.roots:
        lock = workplace.host.lock(behind.root)
        try:
            found = _look(workplace, behind.root, behind.epoch)
            done += _take_in(workplace, found)
            _stamp(workplace, behind.root, epoch)
        finally:
            lock.release()
        mirror_holds(workplace.catalog, workplace.host, [behind.root], settled=found.holds)
        mirror_operations(workplace, [behind.root])
        done.append(f"{behind.root.name}: epoch {epoch} of this catalog is in charge of it")
    acting = _acting(workplace)
    with workplace.catalog.writing(acting.actor, acting.now) as writing:
        writing.confirm_lineage()
        evidence: JsonValue = {
            "epoch": epoch,
            "roots": [behind.root.name for behind in waiting.roots],
            "unreachable": list(waiting.unreachable),
        }
        audit.append(writing.connection, acting.entry(AuditAction.CATALOG_CONFIRM, evidence=evidence))
    done.append(f"epoch {epoch} of this catalog is confirmed")
    return tuple(done)


def _epoch_on(workplace: Workplace, root: Root) -> int | None:
    """Return the epoch of this catalog that a root names, None when it cannot be asked or is not ours."""
    try:
        marker = workplace.host.read_marker(root.path)
        workplace.host.operations(root)  # fails for a copied, replaced or unmounted root
    except HostFailure:
        return None
    if marker is None or marker.root_id != root.root_id or marker.catalog_id != workplace.catalog.lineage_id:
        return None
    return marker.catalog_epoch


def _look(workplace: Workplace, root: Root, epoch: int) -> RootBehind:
    told = read_holds(workplace.host, root)
    with workplace.catalog.reading() as reading:
        holds = unknown_holds(reading, root, told)
    return RootBehind(
        root=root,
        epoch=epoch,
        aside=strangers(workplace, root),
        purged=purged_elsewhere(workplace, root),
        holds=holds,
    )


def _settle_epoch(workplace: Workplace, waiting: Awaiting) -> int:
    highest = max((behind.epoch for behind in waiting.roots), default=0)
    if waiting.is_confirmed or highest < waiting.epoch:
        return waiting.epoch
    acting = _acting(workplace)
    with workplace.catalog.writing(acting.actor, acting.now) as writing:
        writing.raise_epoch(highest + 1)
        evidence: JsonValue = {"epoch": highest + 1, "epoch_before": waiting.epoch}
        audit.append(writing.connection, acting.entry(AuditAction.CATALOG_RAISE_EPOCH, evidence=evidence))
    return workplace.catalog.look_up_epoch()


def _take_in(workplace: Workplace, behind: RootBehind) -> list[str]:
    root, acting = behind.root, _acting(workplace)
    done = [
        f"{import_operation(workplace, root, found)}: taken in; `artifactctl quarantine restore` puts it back"
        for found in behind.aside
    ]
    done += [
        f"{import_purge(workplace, root, found)}: was purged by operation {found.operation}" for found in behind.purged
    ]
    done += [place_again(workplace.host, workplace.catalog, root, hold, acting=acting) for hold in behind.holds]
    return done


def _stamp(workplace: Workplace, root: Root, epoch: int) -> None:
    marker = workplace.host.read_marker(root.path)
    if marker is None:
        raise HostFailure(f"the marker of `{root.name}` went away meanwhile", remedy="artifactctl doctor")
    if marker.catalog_epoch != epoch:
        workplace.host.write_marker(root.path, replace(marker, catalog_epoch=epoch))
    with workplace.catalog.reading() as reading:
        head = head_of(reading)
    write_head(workplace.host, root, head)


def _acting(workplace: Workplace) -> Acting:
    return Acting(actor=workplace.actor, host=workplace.host.identify().hostname, now=workplace.clock())
