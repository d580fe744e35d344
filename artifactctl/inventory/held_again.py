"""Placing a hold again that only a root still tells of."""

from artifactctl import audit
from artifactctl.catalog import Catalog, PathTaken
from artifactctl.domain.artifacts import Artifact, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.failures import NothingThere
from artifactctl.inventory.mirrored_holds import MirroredHold, artifact_under
from artifactctl.inventory.registering import Statement, register


def place_again(host: Host, catalog: Catalog, root: Root, hold: MirroredHold, *, acting: Acting) -> str:
    """Place the hold on what it covers and return one sentence; what is there and was never registered is, first."""
    kept = _covered(host, catalog, root, hold, acting=acting)
    with catalog.writing(acting.actor, acting.now) as writing:
        if kept is not None:
            writing.place_hold(
                kept.artifact_id,
                reason=hold.reason,
                until=hold.until,
                placed_by=hold.actor,
                placed_at=hold.placed_at,
            )
        entry = acting.entry(
            AuditAction.HOLD_FOUND_AGAIN if kept is not None else AuditAction.HOLD_WITHOUT_OBJECT,
            artifact=kept.name if kept is not None else hold.name,
            path=root.path.rstrip(b"/") + b"/" + hold.paths[0] if hold.paths else root.path,
            reason=hold.reason,
            evidence={"placed_by": hold.actor, "placed_at": hold.placed_at.isoformat(), "root": root.name},
        )
        audit.append(writing.connection, entry)
    if kept is None:
        return f"{hold.name}: was held ({hold.reason}), and nothing of it is there any more"
    return f"{kept.name}: held again for {hold.actor}: {hold.reason}"


def _covered(host: Host, catalog: Catalog, root: Root, hold: MirroredHold, *, acting: Acting) -> Artifact | None:
    with catalog.reading() as reading:
        known = artifact_under(reading, root, hold)
        name = hold.name if reading.artifact(hold.name) is None else ""
    if known is not None:
        return known
    for relative in hold.paths:
        path = root.path.rstrip(b"/") + b"/" + relative
        try:
            return register(host, catalog, path, Statement(name=name), now=acting.now, actor=acting.actor)
        except NothingThere:
            continue
        except PathTaken:  # the artifact around it, which this catalog knows, has it among its members
            with catalog.reading() as reading:
                return reading.artifacts_above(root.root_id, relative)[-1]
    return None
