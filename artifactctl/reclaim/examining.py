"""Catalog against disk: what `artifactctl doctor` looks at, and what it can bring in order."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from artifactctl import audit
from artifactctl.archiving.unfinished import copy_findings, repair_copies, upload_findings
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.artifacts import ReplicaState, Root
from artifactctl.domain.errors import ArtifactctlError, HostFailure
from artifactctl.domain.ledger import KnownHost
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import can_copy, require_copying
from artifactctl.hosts.protocol import Marker
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.candidates import CLOCK_SLACK
from artifactctl.inventory.catalog_heads import roots_ahead
from artifactctl.inventory.held_again import place_again
from artifactctl.inventory.holding import mirror_holds
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.mirrored_holds import MirroredHold, read_holds, unknown_holds
from artifactctl.inventory.standing import why_read_only
from artifactctl.policy.layering import NOTHING_MAY_GO
from artifactctl.policy.ruleset import Policy
from artifactctl.reclaim.before_purge import only_what_is_ours
from artifactctl.reclaim.importing import import_operation, strangers
from artifactctl.reclaim.locking import locked_roots, mirror_operations
from artifactctl.reclaim.quarantined import latest_operation
from artifactctl.reclaim.recovering import NEEDS_A_PERSON, Unfinished, give_up_lost, unfinished
from artifactctl.reclaim.recovery import Action
from artifactctl.reclaim.survey import target_of
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.doctor import Finding
from artifactctl.report.sizes import format_bytes

WORTH_A_WORD_BYTES = 1 << 20
"""Deleted files that hold less than this are not worth a line."""

_UNDER_WAY = (ReplicaState.QUARANTINING, ReplicaState.RESTORING, ReplicaState.PURGING)
"""States of a copy that an operation was moving or removing when it was last heard of."""

CONFIRM = "look at what it knows (`artifactctl ls`), then confirm with `artifactctl doctor --repair`"


def examine(workplace: Workplace) -> tuple[Finding, ...]:
    """Return everything that is not as it should be in the catalog and on the machine at hand; changes nothing."""
    about_catalog = examine_catalog(workplace.catalog, workplace.policy, now=workplace.clock())
    return (*about_catalog, *examine_machine(workplace))


def examine_catalog(catalog: Catalog, policy: Policy, *, now: datetime) -> tuple[Finding, ...]:
    """Return what is not as it should be wherever artifacts are: catalog, audit chain, holds, policy, clock."""
    with catalog.reading() as reading:
        findings = (
            *_catalog_findings(reading, now=now),
            *_reviews_due(reading, now=now),
            *upload_findings(reading, now=now),
        )
    return (*findings, *_policy_problem(policy))


def examine_machine(workplace: Workplace) -> tuple[Finding, ...]:
    """Return everything on one machine that is not as the catalog says; changes nothing."""
    with workplace.catalog.reading() as reading:
        roots = roots_here(reading, workplace.host.identify())
        findings = [*_older_than_seen(workplace, reading)]
        reachable = []
        for root in roots:
            problem = _root_problem(workplace, root)
            if problem is None:
                reachable.append(root)
            else:
                findings.append(problem)
        for root in reachable:
            findings += _missing(workplace, reading, root)
    for root in [each for each in reachable if each.is_marked]:
        findings += [*_read_only(workplace, root), *_operations(workplace, root), *_holds(workplace, root)]
        findings += _copies(workplace, root)
    return (*findings, *_deleted_but_open(workplace, reachable))


def examine_silence(catalog: Catalog, machine: KnownHost, failure: ArtifactctlError) -> tuple[Finding, ...]:
    """Return that a machine cannot be asked, and which operations there nobody knows the end of until it can."""
    with catalog.reading() as reading:
        below = {root.root_id for root in reading.roots() if root.host_id == machine.host_id}
        begun = [
            (artifact.name, latest_operation(reading, artifact.artifact_id, replica.replica_id))
            for state in _UNDER_WAY
            for artifact in reading.artifacts(state=state)
            for replica in artifact.replicas
            if replica.state is state and replica.root.root_id in below
        ]
        copied = [
            (artifact.name, replica)
            for artifact in reading.artifacts(state=ReplicaState.ARCHIVING)
            for replica in artifact.replicas
            if replica.state is ReplicaState.ARCHIVING and replica.root.root_id in below
        ]
    remedy = f"when {machine.name} answers again: `artifactctl doctor --repair`"
    return (
        Finding(
            what=f"it cannot be asked: {failure.message}",
            object=f"machine {machine.name}",
            remedy=failure.remedy or remedy,
        ),
        *(
            Finding(
                what=f"{name}: whether it was carried out is not known while {machine.name} does not answer",
                object=f"operation {operation.operation_id}",
                remedy=remedy,
            )
            for name, operation in begun
            if operation is not None
        ),
        *(
            Finding(
                what=f"a copy of it to {machine.name} ({replica.root.name}) was begun; how far it came is not known "
                "while that machine does not answer, and nothing of it counts",
                object=name,
                remedy=f"when {machine.name} answers again: `artifactctl archive {name}` goes on with it",
            )
            for name, replica in copied
        ),
    )


def _policy_problem(policy: Policy) -> tuple[Finding, ...]:
    """Return a finding where no policy could be read, so that one stands in under which nothing may go."""
    if policy != NOTHING_MAY_GO:
        return ()
    what = "the policy in force cannot be read, so nothing may go"
    return (Finding(what=what, object="policy", remedy="`artifactctl policy lint` says what is wrong and where"),)


def repair(workplace: Workplace) -> tuple[str, ...]:
    """Finish every unfinished operation on the machine's reachable roots; returns one sentence for each that ended."""
    with workplace.catalog.reading() as reading:
        here = roots_here(reading, workplace.host.identify())
    roots = [root for root in here if root.is_marked and _root_problem(workplace, root) is None]
    done: list[str] = []
    for root in roots:
        done += repair_copies(archiving_at(workplace), root) if can_copy(workplace.host) else ()
        items = [item for item in unfinished(workplace, root) if item.step.action not in NEEDS_A_PERSON]
        foreign = strangers(workplace, root)
        if not items and not foreign:
            done += _hold_again(workplace, root)
            continue
        with locked_roots(workplace, [root]):
            names = [import_operation(workplace, root, found) for found in foreign]
            mirror_operations(workplace, [root])
        left = {item.found.operation for item in unfinished(workplace, root)}
        done += [item.step.sentence for item in items if item.found.operation not in left]
        done += [f"{name}: taken in; `artifactctl quarantine restore` puts it back" for name in names]
        done += _hold_again(workplace, root)  # after that: what is held may lie in such a quarantine
    return tuple(done)


def _hold_again(workplace: Workplace, root: Root) -> list[str]:
    """Place what the root says is held and this catalog does not know, then write the root's list anew."""
    if not _unknown_holds(workplace, root):
        return []
    acting = Acting(actor=workplace.actor, host=workplace.host.identify().hostname, now=workplace.clock())
    with locked_roots(workplace, [root]):
        found = _unknown_holds(workplace, root)
        done = [place_again(workplace.host, workplace.catalog, root, hold, acting=acting) for hold in found]
        mirror_holds(workplace.catalog, workplace.host, [root], settled=found)
    return done


def _unknown_holds(workplace: Workplace, root: Root) -> tuple[MirroredHold, ...]:
    told = read_holds(workplace.host, root)
    with workplace.catalog.reading() as reading:
        return unknown_holds(reading, root, told)


def _holds(workplace: Workplace, root: Root) -> Iterator[Finding]:
    try:
        found = _unknown_holds(workplace, root)
    except HostFailure as error:
        yield Finding(what=error.message, object=f"root {root.name}", remedy=error.remedy)
        return
    for hold in found:
        yield Finding(
            what=f"{hold.actor} holds it ({hold.reason}) by what its root says, and this catalog does not know of that",
            object=hold.name,
            remedy="artifactctl doctor --repair places the hold again",
            repairable=True,
        )


def archiving_at(workplace: Workplace) -> ArchivingWork:
    """Return what archiving works with at this workplace."""
    host = require_copying(workplace.host)
    return ArchivingWork(
        catalog=workplace.catalog,
        identity=host.identify,
        host_of=lambda root: host,
        actor=workplace.actor,
        clock=workplace.clock,
        new_operation=workplace.new_operation,
    )


def _copies(workplace: Workplace, root: Root) -> Iterator[Finding]:
    if not can_copy(workplace.host):
        return
    try:
        yield from copy_findings(archiving_at(workplace), root)
    except HostFailure as error:
        yield Finding(what=error.message, object=f"root {root.name}", remedy=error.remedy)


def _catalog_findings(reading: Reading, *, now: datetime) -> Iterator[Finding]:
    proof = audit.verify(reading.connection)
    if not proof.ok:
        yield Finding(
            what=f"the audit chain is broken: {proof.problem}", object="audit", remedy="artifactctl audit verify"
        )
    identity = reading.identity()
    if identity.moved_to:
        yield Finding(
            what=f"it moved to {identity.moved_to} and takes no more changes here",
            object="catalog",
            remedy=f"artifactctl --catalog {identity.moved_to} doctor",
        )
    if not identity.is_confirmed:
        yield Finding(
            what=f"it was restored from a backup (epoch {identity.epoch}) and is not confirmed: nothing is removed",
            object="catalog",
            remedy=CONFIRM,
            repairable=True,
        )
    behind = identity.written_at - now
    if behind > CLOCK_SLACK:
        yield Finding(
            what=f"this machine's clock is {behind} behind the catalog's last write, so nothing expires",
            object="clock",
            remedy="set the clock (timedatectl status)",
        )


def _older_than_seen(workplace: Workplace, reading: Reading) -> Iterator[Finding]:
    for ahead in roots_ahead(workplace.host, reading):
        if ahead.is_denied:  # said of the root itself
            continue
        yield Finding(
            what=f"it is an older copy of itself, so nothing is removed: {ahead.why}",
            object="catalog",
            remedy="put the newer one back, or look at what this one knows (`artifactctl ls`) and confirm it with "
            "`artifactctl doctor --repair`: links recorded since are lost",
            repairable=True,
        )


def _reviews_due(reading: Reading, *, now: datetime) -> Iterator[Finding]:
    """Yield the holds whose date has passed: they hold on, and somebody should look whether they still must."""
    for hold in reading.holds():
        if hold.until is not None and hold.review_is_due(now):
            yield Finding(
                what=f"a review of the hold by {hold.actor} ({hold.reason}) is due since {hold.until:%Y-%m-%d}; "
                "it holds until released",
                object=hold.artifact_name,
                remedy=f'`artifactctl hold release {hold.artifact_name} --reason "..."`, and `hold add` with another '
                "--until if it must stay",
            )


def _root_problem(workplace: Workplace, root: Root) -> Finding | None:
    """Return why a root cannot be worked on, None when it is the one the catalog means."""
    name = f"root {root.name}"
    try:
        identity = workplace.host.identity(root.path)
        if identity is None:
            what = f"{display_path(root.path)} is not there"
            return Finding(what=what, object=name, remedy="mount its volume, or `artifactctl root forget`")
        if identity.filesystem_uuid != root.filesystem_uuid:
            what = f"{display_path(root.path)} is on filesystem {identity.filesystem_uuid}, not {root.filesystem_uuid}"
            return Finding(what=what, object=name, remedy="mount its volume")
        if not root.is_marked:
            return None
        marker = workplace.host.read_marker(root.path)
        if marker is None or marker.root_id != root.root_id:
            what = "its marker is missing" if marker is None else f"its marker names another root ({marker.name})"
            return Finding(what=what, object=name, remedy=f"`artifactctl root add {display_path(root.path)}`")
        if marker.catalog_id != workplace.catalog.lineage_id:
            what = "its marker names another catalog, so this one is read-only there"
            return Finding(what=what, object=name, remedy="use that catalog (--catalog)")
        workplace.host.operations(root)
        return _epoch_problem(workplace, name, marker)
    except HostFailure as error:
        return Finding(what=error.message, object=name, remedy=error.remedy or "look at the volume")


def _epoch_problem(workplace: Workplace, name: str, marker: Marker) -> Finding | None:
    catalog = workplace.catalog
    problem = why_read_only(marker, catalog_id=catalog.lineage_id, epoch=catalog.epoch)
    if not problem:
        return None
    older = marker.catalog_epoch < catalog.epoch
    remedy = CONFIRM if older else "use the newer catalog (--catalog); this one stays as it is"
    return Finding(what=problem, object=name, remedy=remedy, repairable=older)


def _read_only(workplace: Workplace, root: Root) -> Iterator[Finding]:
    if workplace.host.usage(root.path).read_only:
        yield Finding(
            what=f"{display_path(root.path)} is on a read-only filesystem: nothing below can be set aside, put back or "
            "purged, and no hold be placed",
            object=f"root {root.name}",
            remedy="mount it read-write (the kernel's log says whether an error made it read-only)",
        )


def _missing(workplace: Workplace, reading: Reading, root: Root) -> Iterator[Finding]:
    for artifact in reading.artifacts(state=ReplicaState.LIVE):
        for replica in artifact.replicas:
            if replica.state is not ReplicaState.LIVE or replica.root.root_id != root.root_id:
                continue
            target = target_of(replica)
            if workplace.host.identity(target.absolute) is None:
                yield Finding(
                    what=f"nothing is at {display_path(target.absolute)}",
                    object=artifact.name,
                    remedy=f"`artifactctl scan {root.name}` records it as missing; see also `artifactctl audit ls`",
                )


def _operations(workplace: Workplace, root: Root) -> Iterator[Finding]:
    for item in unfinished(workplace, root):
        yield _unfinished(workplace, root, item)
    for found in strangers(workplace, root):
        yield Finding(
            what=f"{found.name} lies in quarantine and this catalog did not order that",
            object=f"operation {found.operation}",
            remedy="artifactctl doctor --repair takes it in; then it can be restored, never purged",
            repairable=True,
        )


def _unfinished(workplace: Workplace, root: Root, item: Unfinished) -> Finding:
    """Return what became of an operation and what to do about it."""
    what, remedy, repairable = item.step.sentence, "artifactctl doctor --repair", True
    quarantine = display_path(root.path.rstrip(b"/") + b"/" + item.found.placed)
    if item.step.action is Action.GIVE_UP_LOST:
        remedy = (
            f"put it back where it was, or into {quarantine}, if you know where it is; else `artifactctl doctor "
            "--repair` asks, closes the operation and records it as missing (a scan finds it again at its old path)"
        )
    elif item.step.action is Action.REPORT_FOREIGN:
        what = f"{what} ({quarantine})"
        remedy, repairable = "move it out of there, then look again: `artifactctl doctor`", False
    elif item.step.action is Action.COMPLETE_PURGE and item.found.in_purging:
        left = only_what_is_ours(workplace, root, item.found.operation)
        if not left.permits_removal:
            what, remedy, repairable = f"{item.found.name}: {left.reason}", left.remedy, False
    return Finding(what=what, object=f"operation {item.found.operation}", remedy=remedy, repairable=repairable)


def lost(workplace: Workplace) -> tuple[Unfinished, ...]:
    """Return the operations whose content is nowhere: a person may confirm that, and `give_up` closes them."""
    with workplace.catalog.reading() as reading:
        here = roots_here(reading, workplace.host.identify())
    roots = [root for root in here if root.is_marked and _root_problem(workplace, root) is None]
    items = (item for root in roots for item in unfinished(workplace, root))
    return tuple(item for item in items if item.step.action is Action.GIVE_UP_LOST)


def give_up(workplace: Workplace, items: Sequence[Unfinished]) -> tuple[str, ...]:
    """Close what a person confirmed to be lost; returns one sentence for each that still was."""
    operations = frozenset(item.found.operation for item in items)
    done: list[str] = []
    for root in {item.root.root_id: item.root for item in items}.values():
        with locked_roots(workplace, [root]) as locks:
            done += give_up_lost(workplace, root, operations, lock=locks[root.root_id])
            mirror_operations(workplace, [root])
    return tuple(done)


def _deleted_but_open(workplace: Workplace, roots: list[Root]) -> Iterator[Finding]:
    volumes = {root.filesystem_uuid: root for root in roots}
    for root in volumes.values():
        try:
            held = workplace.host.held_by_deleted(root.path)
        except ArtifactctlError as error:
            yield Finding(what=error.message, object=f"volume of {root.name}", remedy=error.remedy)
            continue
        for item in held:
            if item.size_bytes >= WORTH_A_WORD_BYTES:
                size = format_bytes(item.size_bytes)
                yield Finding(
                    what=f"process {item.pid} ({item.command}) keeps {size} of the deleted file "
                    f"{display_path(item.path)}",
                    object=f"volume of {root.name}",
                    remedy=f"it comes free when process {item.pid} closes the file or ends",
                )
