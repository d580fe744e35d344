"""Holds: keep until released, with a reason. Each is mirrored into the roots it concerns before the command returns."""

from collections.abc import Collection, Iterable
from datetime import datetime

from artifactctl import audit
from artifactctl.catalog.catalog import Catalog
from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, Hold, ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import ArtifactctlError, ExitCode, HostFailure, Refused
from artifactctl.domain.roles import Act
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.mirrored_holds import MIRROR_TOPIC, MirroredHold, read_holds, unknown_holds
from artifactctl.inventory.standing import problem_with, require_in_charge, why_read_only
from artifactctl.report.json_values import dump, json_path
from artifactctl.report.promises import hold_payload


class RootUnwritable(Refused):
    """A root's own list of holds cannot be written: nothing was changed."""


class NotMirrored(ArtifactctlError):
    """The hold is in the catalog but not in the root's own folder, so a rebuilt catalog would forget it."""

    exit_code = ExitCode.PARTLY_DONE


def add_hold(
    catalog: Catalog, host: Host, artifact: Artifact, *, reason: str, until: datetime | None, acting: Acting
) -> Hold:
    """Keep the artifact until somebody releases the hold; `until` only opens a review. Refused once a purge began.

    RootUnwritable, before anything is changed, when a root that it concerns cannot take it in.
    """
    require_holds_writable(catalog, host, artifact)
    with catalog.writing(acting.actor, acting.now) as writing:
        _refuse_what_is_lost(writing, artifact)
        hold = writing.place_hold(artifact.artifact_id, reason=reason, until=until)
        audit.append(
            writing.connection,
            acting.entry(
                AuditAction.HOLD_ADD,
                artifact=artifact.name,
                reason=reason,
                evidence={"hold": hold.hold_id, "until": None if until is None else until.isoformat()},
            ),
        )
    mirror_holds(catalog, host, roots_of(artifact))
    return hold


def _refuse_what_is_lost(reading: Reading, artifact: Artifact) -> None:
    current = reading.artifact_by_id(artifact.artifact_id) or artifact
    states = {replica.state for replica in current.replicas}
    if states and states <= {ReplicaState.PURGING, ReplicaState.GONE}:
        remedy = f"`artifactctl audit ls --artifact {artifact.name}` says what happened to it"
        if ReplicaState.PURGING in states:
            remedy = "`artifactctl doctor --repair` takes it back where its purge was announced and had not begun"
        raise Refused(
            f"{artifact.name} cannot be kept any more: it is {', '.join(sorted(state.value for state in states))}",
            remedy=remedy,
        )


def release_holds(catalog: Catalog, host: Host, artifact: Artifact, *, reason: str, acting: Acting) -> tuple[Hold, ...]:
    """Release every hold on the artifact; an artifact without one is an error, never an empty success.

    It takes a role. RootUnwritable, before anything is changed, when a root that it concerns cannot take that in.
    """
    catalog.require(Act.RELEASE_HOLD, acting.actor, acting.now, about=artifact.name)
    with catalog.reading() as reading:
        if reading.holds(artifact_ids=(artifact.artifact_id,)):
            require_holds_writable(catalog, host, artifact)
    with catalog.writing(acting.actor, acting.now) as writing:
        released = writing.holds(artifact_ids=(artifact.artifact_id,))
        if not released:
            raise UnknownObject(
                f"`{artifact.name}` is not on hold", remedy="`artifactctl hold ls` lists what is on hold"
            )
        for hold in released:
            writing.release_hold(hold.hold_id, reason=reason)
            audit.append(
                writing.connection,
                acting.entry(
                    AuditAction.HOLD_RELEASE,
                    artifact=artifact.name,
                    reason=reason,
                    evidence={"hold": hold.hold_id, "placed_by": hold.actor, "placed_for": hold.reason},
                ),
            )
    mirror_holds(catalog, host, roots_of(artifact))
    return released


def require_holds_writable(catalog: Catalog, host: Host, artifact: Artifact) -> None:
    """Write the list of each root as it is, so that one that cannot be written is found before anything changes.

    A root that waits for a restored catalog to be confirmed can be written then, and is told so after the change.
    """
    for root in _roots_here(catalog, host, roots_of(artifact)):
        try:
            marker = host.read_marker(root.path)
            if marker and why_read_only(marker, catalog_id=catalog.lineage_id, epoch=catalog.look_up_epoch()):
                continue
            require_in_charge(host, catalog, root)
            _write(catalog, host, root)
        except (HostFailure, Refused) as failure:
            raise RootUnwritable(
                f"{artifact.name} lies on `{root.name}`, which cannot take in a change of its holds; nothing was "
                f"changed: {failure.message}",
                remedy=failure.remedy,
            ) from failure


def _roots_here(catalog: Catalog, host: Host, roots: Iterable[Root]) -> list[Root]:
    with catalog.reading() as reading:
        here = {root.root_id for root in roots_here(reading, host.identify())}
    return [root for root in roots if root.root_id in here and root.is_marked]


def _write(catalog: Catalog, host: Host, root: Root, *, settled: Collection[MirroredHold] = ()) -> None:
    """Write the holds in force below a root into it, and keep those that only it knows."""
    told = read_holds(host, root)
    with catalog.reading() as reading:
        kept = [hold for hold in unknown_holds(reading, root, told) if hold not in settled]
        content = holds_below(reading, root, kept=kept)
    host.mirror(root.path, MIRROR_TOPIC, content)


def mirror_holds(
    catalog: Catalog, host: Host, roots: Iterable[Root], *, settled: Collection[MirroredHold] = ()
) -> None:
    """Write the holds in force below each root of this machine into the root; NotMirrored names what failed.

    A hold that stands there and that this catalog has never heard of stays, unless it is one of those `settled`.
    """
    failed = []
    for root in _roots_here(catalog, host, roots):
        # What another epoch mirrored there may name holds that this catalog has never heard of: it stays.
        if problem := problem_with(host, catalog, root):
            failed.append(f"{root.name} ({problem})")
            continue
        try:
            _write(catalog, host, root, settled=settled)
        except HostFailure as failure:
            failed.append(f"{root.name} ({failure.message})")
    if failed:
        raise NotMirrored(
            f"the catalog knows the change, but it could not be written into the root {', '.join(failed)}",
            remedy="make the root writable and run `artifactctl doctor --repair`",
        )


def holds_below(reading: Reading, root: Root, *, kept: Iterable[MirroredHold] = ()) -> bytes:
    """Return what `.artifactctl/holds.json` says: each hold in force with the paths it covers below the root.

    `kept` are holds that stand there already and are not this catalog's to drop.
    """
    places: dict[int, list[bytes]] = {}
    for artifact in reading.artifacts():
        for replica in artifact.replicas:
            if replica.root.root_id == root.root_id and replica.state is not ReplicaState.GONE:
                places.setdefault(artifact.artifact_id, []).append(replica.relative)
    holds = [
        {**hold_payload(hold), "paths": [json_path(path) for path in places[hold.artifact_id]]}
        for hold in reading.holds()
        if hold.artifact_id in places
    ]
    return dump("holds", {"holds": [*holds, *(dict(hold.told) for hold in kept)]}).encode("utf-8")


def roots_of(artifact: Artifact) -> list[Root]:
    """Return the roots that hold something of the artifact, or may again."""
    return list({r.root.root_id: r.root for r in artifact.replicas if r.state is not ReplicaState.GONE}.values())
