"""Holds that stand in a root's own folder, and which of them this catalog has never heard of: never forgotten."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Hold, ReplicaState, Root
from artifactctl.domain.errors import HostDenied, HostFailure
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.machines import roots_here

MIRROR_TOPIC = "holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredHold:
    """A hold as a root tells it; `paths` are those it covers, relative to the root, `told` is the JSON it stands in."""

    name: str
    reason: str
    actor: str
    placed_at: datetime
    until: datetime | None
    paths: tuple[bytes, ...]
    told: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


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
    """Return those that the catalog does not have on the artifact that they cover, and did not release either."""
    if not told:
        return ()
    released = {_about(hold) for hold in reading.released_holds()}
    return tuple(hold for hold in told if _about(hold) not in released and not _is_in_force(reading, root, hold))


def holds_nobody_knows(host: Host, reading: Reading) -> tuple[tuple[str, MirroredHold], ...]:
    """Return (root id, hold) for every hold in a root of this machine that the catalog has never heard of.

    A catalog that an older file was copied over looks like itself; only what stands in the roots tells. Where that
    cannot be read, everything below the root counts as held; where the account may not look, nobody is told anything.
    """
    found: list[tuple[str, MirroredHold]] = []
    for root in roots_here(reading, host.identify()):
        try:
            if host.read_marker(root.path) is None:
                continue  # not mounted: nothing below it can be judged, and nothing goes
        except HostDenied:
            continue  # asked for the catalog's head as well, so that `Trust.untold` keeps everything there
        except HostFailure as error:
            found.append((root.root_id, _everything(reading, root, error)))
            continue
        try:
            told = read_holds(host, root)
        except HostFailure as error:
            found.append((root.root_id, _everything(reading, root, error)))
            continue
        found += [(root.root_id, hold) for hold in unknown_holds(reading, root, told)]
    return tuple(found)


def _everything(reading: Reading, root: Root, error: HostFailure) -> MirroredHold:
    """Return what stands for the holds of a root that cannot be read: it covers all of it."""
    return MirroredHold(
        name=root.name,
        reason=error.message,
        actor="somebody",
        placed_at=reading.identity().written_at,
        until=None,
        paths=(b"",),
    )


def artifact_under(reading: Reading, root: Root, hold: MirroredHold) -> Artifact | None:
    """Return the artifact at one of the paths that the hold covers, one that is set aside only where none is there."""
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


def _is_in_force(reading: Reading, root: Root, hold: MirroredHold) -> bool:
    artifact = artifact_under(reading, root, hold)
    if artifact is None:
        return False
    return any(_about(hold) == _about(known) for known in reading.holds(artifact_ids=(artifact.artifact_id,)))


def _about(hold: MirroredHold | Hold) -> tuple[str, str, datetime]:
    return hold.reason, hold.actor, hold.placed_at


def _hold(told: dict[str, Any]) -> MirroredHold:
    return MirroredHold(
        name=told["name"],
        reason=told["reason"],
        actor=told["actor"],
        placed_at=datetime.fromisoformat(told["placed_at"]),
        until=datetime.fromisoformat(told["until"]) if told["until"] else None,
        paths=tuple(_path(place) for place in told["paths"]),
        told=told,
    )


def _path(place: dict[str, str]) -> bytes:
    exact = place.get("path_b64")
    return base64.b64decode(exact) if exact else place["path"].encode("utf-8", "surrogateescape")
