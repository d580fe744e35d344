"""What the catalog says of a machine that goes away: what lies there, where else it is, how fast bytes left it."""

from datetime import datetime
from urllib.parse import urlsplit

from artifactctl import audit
from artifactctl.archiving.destination import is_url
from artifactctl.capacity.leaving import (
    ASSUMED_BYTES_A_SECOND,
    Basis,
    Belonging,
    LeavingPlan,
    Rate,
    plan_leaving,
)
from artifactctl.catalog import Reading, UnknownObject
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import UsageError
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ingredients import INPUT_ROLES, names_its_ingredients
from artifactctl.domain.ledger import KnownHost
from artifactctl.inventory.kinship import counts
from artifactctl.inventory.machine_choice import machine_of_root
from artifactctl.inventory.machines import known_machine
from artifactctl.inventory.places import Here, place_of

SECONDS_AN_HOUR = 3600
ARCHIVES_ASKED = 5
"""How many of the last finished archives a measured rate rests on."""


def leaving_plan(
    reading: Reading, machine: KnownHost, *, by: datetime, given_bytes_a_second: int | None, now: datetime
) -> LeavingPlan:
    """Plan what to save from a machine, by what the catalog knows of it and of the others. Nothing is looked at."""
    artifacts = tuple(reading.artifacts())
    rows = _rows_of(reading, machine)
    here = [artifact for artifact in artifacts if any(_lies_on(r, rows) for r in artifact.replicas)]
    elsewhere = frozenset(
        artifact.name
        for artifact in artifacts
        if any(counts(r) and r.root.host_id not in rows for r in artifact.replicas)
        or any(_lies_elsewhere(copy) for copy in reading.archives(artifact_ids=(artifact.artifact_id,)))
    )
    hosts = {known.host_id: known.name for known in reading.hosts_ever()}
    belongings = [_belonging(reading, artifact, rows, hosts) for artifact in here]
    rate = _rate(reading, machine, given_bytes_a_second)
    return plan_leaving(machine.name, belongings, elsewhere=elsewhere, rate=rate, by=by, now=now)


def machine_named(reading: Reading, name: str, identity: HostIdentity) -> KnownHost:
    """Return the machine of that name, which this one answers to as well by its hostname; UnknownObject."""
    found = reading.host(name)
    if found is None and name == identity.hostname:
        found = known_machine(reading, identity)
    if found is None:
        known = ", ".join(each.name for each in reading.hosts()) or "none yet"
        raise UnknownObject(f"the catalog knows no machine `{name}`", remedy=f"it knows: {known}")
    return found


def _rows_of(reading: Reading, machine: KnownHost) -> frozenset[int]:
    """Return the numbers of every row that may be the same machine: what lies on one is no copy elsewhere."""
    return frozenset(known.host_id for known in reading.hosts_ever() if known.may_be(machine))


def _lies_on(replica: Replica, rows: frozenset[int]) -> bool:
    return replica.state is ReplicaState.LIVE and replica.root.host_id in rows


def _belonging(reading: Reading, artifact: Artifact, rows: frozenset[int], hosts: dict[int, str]) -> Belonging:
    replica = next(r for r in artifact.replicas if _lies_on(r, rows))
    return Belonging(
        name=artifact.name,
        kind=artifact.kind.value,
        path=replica.root.path + b"/" + replica.relative,
        size_bytes=replica.apparent_bytes,
        copies_elsewhere=_copies_elsewhere(reading, artifact, rows, hosts),
        inputs=_inputs(reading, artifact),
        needs=tuple(
            parent.name
            for edge in reading.parents(artifact.artifact_id)
            if edge.role.needs_parent and (parent := reading.artifact_by_id(edge.parent_id)) is not None
        ),
        superseded_by=_verified_successor(reading, artifact),
        hours_to_rebuild=_hours_to_rebuild(reading, artifact),
        is_held=bool(reading.holds(artifact_ids=(artifact.artifact_id,))),
    )


def _copies_elsewhere(
    reading: Reading, artifact: Artifact, rows: frozenset[int], hosts: dict[int, str]
) -> tuple[str, ...]:
    """Return where verified copies of the artifact are, as they were recorded."""
    copies = (
        f"on {hosts[r.root.host_id]}, in `{r.root.name}`"
        for r in artifact.replicas
        if r.root.host_id not in rows and _is_verified(r)
    )
    here = {r.fingerprint for r in artifact.replicas if _lies_on(r, rows)}
    archives = (
        f"at {copy.url}"
        for copy in reading.archives(artifact_ids=(artifact.artifact_id,))
        if _lies_elsewhere(copy) and copy.source_fingerprint in here
    )
    return (*copies, *archives)


def _lies_elsewhere(copy: ArchiveCopy) -> bool:
    """Whether a verified copy is surely on no machine of ours: nobody recorded on which one a `file://` was typed."""
    return copy.is_verified and urlsplit(copy.url).scheme != "file"


def destinations(reading: Reading, machine: KnownHost) -> tuple[tuple[str, str], ...]:
    """Return (root, its machine) of everything that can be saved to: roots on other machines that may be written to."""
    hosts = {known.host_id: known.name for known in reading.hosts()}
    rows = _rows_of(reading, machine)
    roots = (root for root in reading.roots() if root.is_marked and root.host_id not in rows)
    return tuple((root.name, hosts[root.host_id]) for root in roots)


def require_elsewhere(reading: Reading, machine: KnownHost, word: str, *, here: Here) -> None:
    """UsageError when what `--to` names lies on the very machine that goes away."""
    if is_url(word):
        stays = urlsplit(word).scheme == "file" and here.is_machine(machine)
    else:
        root = reading.root(word)
        at = place_of(reading, word, here=here).machine if root is None else machine_of_root(reading, root, here=here)
        stays = here.is_machine(machine) if at is None else at.host_id in _rows_of(reading, machine)
    if stays:
        others = ", ".join(f"--to {name} ({host})" for name, host in destinations(reading, machine))
        raise UsageError(
            f"{word} lies on {machine.name} itself, which goes away",
            remedy=f"name one that stays: {others or '--to s3://bucket/prefix'}",
        )


def _is_verified(replica: Replica) -> bool:
    """Whether the last verification was of what was last seen there."""
    proven = replica.verified_fingerprint != "" and replica.verified_fingerprint == replica.fingerprint
    return counts(replica) and replica.verified_level is not None and proven


def _inputs(reading: Reading, artifact: Artifact) -> tuple[str, ...] | None:
    """Return what it could be built again from, None where what is recorded makes no recipe."""
    parents = [
        parent
        for edge in reading.parents(artifact.artifact_id)
        if edge.role in INPUT_ROLES and (parent := reading.artifact_by_id(edge.parent_id)) is not None
    ]
    if not names_its_ingredients(artifact.kind, {parent.kind for parent in parents}):
        return None
    return tuple(parent.name for parent in parents)


def _verified_successor(reading: Reading, artifact: Artifact) -> str:
    successor = reading.artifact(artifact.superseded_by) if artifact.superseded_by is not None else None
    if successor is None or not any(_is_verified(r) for r in successor.replicas):
        return ""
    return successor.name


def _hours_to_rebuild(reading: Reading, artifact: Artifact) -> float | None:
    """Return what the last run that made it cost: GPU hours where they are recorded, else how long it took."""
    made_it = [run for run in reading.runs(artifact_id=artifact.artifact_id) if artifact.artifact_id in run.outputs]
    for run in reversed(made_it):
        if run.cost_gpu_hours is not None:
            return run.cost_gpu_hours
        if run.duration_seconds is not None:
            return run.duration_seconds / SECONDS_AN_HOUR
    return None


def _rate(reading: Reading, machine: KnownHost, given_bytes_a_second: int | None) -> Rate:
    """Return what was given, else what the last archives from that machine to another place came to."""
    if given_bytes_a_second is not None:
        return Rate(bytes_a_second=given_bytes_a_second, basis=Basis.GIVEN)
    measured = []
    for event in audit.events(reading.connection, action=AuditAction.ARCHIVE_DONE):
        facts = event.entry.evidence
        if isinstance(facts, dict) and facts.get("from_host") == machine.name and facts.get("left_host"):
            measured.append((float(facts["sent_bytes"]), float(facts["seconds"])))
    last = [(sent, seconds) for sent, seconds in measured if sent > 0 and seconds > 0][-ARCHIVES_ASKED:]
    if not last:
        return Rate(bytes_a_second=ASSUMED_BYTES_A_SECOND, basis=Basis.ASSUMED)
    total = sum(sent for sent, _ in last) / sum(seconds for _, seconds in last)
    return Rate(bytes_a_second=total, basis=Basis.MEASURED, archives=len(last))
