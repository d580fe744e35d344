"""Holds that stand in a root's own folder and that this catalog has never heard of: placed again, never forgotten."""

import base64
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from artifactctl import audit
from artifactctl.catalog import Catalog, PathTaken, Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import HostFailure
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.failures import NothingThere
from artifactctl.inventory.holding import MIRROR_TOPIC
from artifactctl.inventory.registering import Statement, register


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredHold:
    """A hold as a root tells it; `paths` are those it covers, relative to the root."""

    name: str
    reason: str
    actor: str
    placed_at: datetime
    until: datetime | None
    paths: tuple[bytes, ...]


def read_holds(host: Host, root: Root) -> tuple[MirroredHold, ...]:
    """Return the holds that stand in the root; HostFailure when what stands there cannot be read."""
    content = host.read_mirror(root.path, MIRROR_TOPIC)
    if content is None:
        return ()
    try:
        return tuple(_hold(told) for told in json.loads(content)["holds"])
    except (ValueError, KeyError, TypeError) as error:
        raise HostFailure(
            f"the holds that stand in the root `{root.name}` cannot be read ({error}): what they kept is not known",
            remedy="look at .artifactctl/holds.json there; place what it says with `artifactctl hold add`, then move "
            "it away",
        ) from error


def unknown_holds(reading: Reading, root: Root, told: tuple[MirroredHold, ...]) -> tuple[MirroredHold, ...]:
    """Return those that the catalog does not have on the artifact that they cover."""
    return tuple(hold for hold in told if not _is_known(reading, root, hold))


def holds_nobody_knows(host: Host, reading: Reading) -> tuple[tuple[str, MirroredHold], ...]:
    """Return (root id, hold) for every hold in a root of this machine that the catalog has never heard of.

    A catalog that an older file was copied over looks like itself; only what stands in the roots tells. Where that
    cannot be read, everything below the root counts as held.
    """
    machine = host.identify().machine_id
    here = {known.host_id for known in reading.hosts() if known.machine_id == machine and not known.address}
    found: list[tuple[str, MirroredHold]] = []
    for root in reading.roots():
        if root.host_id not in here:
            continue
        try:
            if host.read_marker(root.path) is None:
                continue  # not mounted: nothing below it can be judged, and nothing goes
            told = read_holds(host, root)
        except HostFailure as error:
            instant = reading.identity().written_at
            everything = MirroredHold(
                name=root.name, reason=error.message, actor="somebody", placed_at=instant, until=None, paths=(b"",)
            )
            told = (everything,)
        found += [(root.root_id, hold) for hold in unknown_holds(reading, root, told)]
    return tuple(found)


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
        known = _artifact_of(reading, root, hold)
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


def _artifact_of(reading: Reading, root: Root, hold: MirroredHold) -> Artifact | None:
    for relative in hold.paths:
        found = reading.artifact_at(root.root_id, relative)
        if found is not None:
            return found
    aside = tuple(state for state in ReplicaState if state is not ReplicaState.GONE)
    for relative in hold.paths:
        found = reading.artifact_at(root.root_id, relative, states=aside)
        if found is not None:
            return found
    return None


def _is_known(reading: Reading, root: Root, hold: MirroredHold) -> bool:
    artifact = _artifact_of(reading, root, hold)
    if artifact is None:
        return False
    return any(
        (known.reason, known.actor, known.placed_at) == (hold.reason, hold.actor, hold.placed_at)
        for known in reading.holds(artifact_ids=(artifact.artifact_id,))
    )


def _hold(told: dict[str, Any]) -> MirroredHold:
    return MirroredHold(
        name=told["name"],
        reason=told["reason"],
        actor=told["actor"],
        placed_at=datetime.fromisoformat(told["placed_at"]),
        until=datetime.fromisoformat(told["until"]) if told["until"] else None,
        paths=tuple(_path(place) for place in told["paths"]),
    )


def _path(place: dict[str, str]) -> bytes:
    exact = place.get("path_b64")
    return base64.b64decode(exact) if exact else place["path"].encode("utf-8", "surrogateescape")
