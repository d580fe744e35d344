"""Forgetting a root: nothing on disk changes, and what lies there counts as nobody's copy from then on."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from artifactctl.catalog import Catalog, Reading, Writing
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, LineageRole, Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.ingredients import INPUT_ROLES
from artifactctl.domain.operations import FINISHED
from artifactctl.guards.wording import counted, first_of
from artifactctl.inventory.failures import LastCopies, RootInUse
from artifactctl.inventory.kinship import counts
from artifactctl.inventory.roots import audit_root
from artifactctl.report.sizes import format_bytes

_REMOVED = frozenset({ReplicaState.QUARANTINED, ReplicaState.PURGING, ReplicaState.GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCopy:
    """An artifact of which no other verified copy is known.

    `relied_on` says what was removed because of this one, "" where nothing was: then it is merely told.
    """

    name: str
    allocated_bytes: int
    relied_on: str


def last_copies(reading: Reading, name: str) -> tuple[LastCopy, ...]:
    """Return what has its last verified copy below the root, or its last of any kind where a removal relied on it."""
    return tuple(_last_copies(reading, _root_named(reading, name)))


def _last_copies(reading: Reading, root: Root) -> Iterator[LastCopy]:
    for artifact in reading.artifacts_below(root.root_id, b""):
        here = [r for r in artifact.replicas if r.root.root_id == root.root_id and counts(r)]
        if not here or _is_kept_elsewhere(reading, artifact, root):
            continue
        relied_on = _relied_on(reading, artifact, root)
        if relied_on or any(_is_verified(r) for r in here):
            size = sum(r.allocated_bytes for r in here)
            yield LastCopy(name=artifact.name, allocated_bytes=size, relied_on=relied_on)


def _is_verified(replica: Replica) -> bool:
    return counts(replica) and replica.verified_level is not None and replica.verified_fingerprint != ""


def _is_kept_elsewhere(reading: Reading, artifact: Artifact, root: Root) -> bool:
    """Whether a verified copy is in another managed root or in a store, as far as the catalog knows."""
    if any(_is_verified(r) and r.root.root_id != root.root_id for r in artifact.replicas):
        return True
    return any(copy.is_verified for copy in reading.archives(artifact_ids=(artifact.artifact_id,)))


def _relied_on(reading: Reading, artifact: Artifact, root: Root) -> str:
    """Return what was removed since this one is there: another copy, what it replaced, what can be built from it."""
    if any(r.state in _REMOVED for r in artifact.replicas):
        return "another copy of it was removed"
    for edge in reading.parents(artifact.artifact_id):
        if edge.role is LineageRole.SUPERSEDES and (name := _removed(reading, edge.parent_id)):
            return f"{name}, which it supersedes, was removed"
    for edge in reading.children(artifact.artifact_id):
        if edge.role in INPUT_ROLES and (name := _removed(reading, edge.child_id)):
            return f"{name}, which was removed, is built from it"
    return ""


def _removed(reading: Reading, artifact_id: int) -> str:
    """Return the name of an artifact of which a copy was removed and none is left, else ""."""
    found = reading.artifact_by_id(artifact_id)
    if found is None or any(counts(r) for r in found.replicas):
        return ""
    return found.name if any(r.state in _REMOVED for r in found.replicas) else ""


def forget_root(
    catalog: Catalog, name: str, *, now: datetime, actor: str, giving_up: Collection[str] = ()
) -> tuple[Root, tuple[LastCopy, ...]]:
    """Stop managing a root; its marker and bytes stay, and its machine need not answer any more.

    Returns the root and what had its last verified copy there. RootInUse while something there is set aside or leased,
    LastCopies while a removal relied on something there that is not among the names `giving_up`.
    """
    with catalog.writing(actor, now) as writing:
        root = _root_named(writing, name)
        _require_unused(writing, root)
        last = tuple(_last_copies(writing, root))
        kept = [copy for copy in last if copy.relied_on and copy.name not in giving_up]
        if kept:
            raise LastCopies(
                told_of(kept, name), remedy=f"copy them elsewhere first (`artifactctl archive {kept[0].name} --to ...`)"
            )
        writing.forget_root(root.root_id)
        known = writing.host(root.host_id)
        told: dict[str, JsonValue] = {}
        if last:
            told = {"last_copies": [copy.name for copy in last], "last_copies_bytes": total_bytes(last)}
        audit_root(writing, AuditAction.ROOT_FORGET, root, host=known.name if known is not None else "", told=told)
    return root, last


def told_of(copies: Collection[LastCopy], root_name: str) -> str:
    """Return one sentence about last copies: which, and what relied on the first of them."""
    first = next(iter(copies))
    why = f" ({first.name}: {first.relied_on})" if first.relied_on else ""
    return (
        f"outside of `{root_name}` no verified copy of {counted(len(copies), 'artifact')} is known, "
        f"{format_bytes(total_bytes(copies))}: {first_of([copy.name for copy in copies])}{why}"
    )


def total_bytes(copies: Collection[LastCopy]) -> int:
    """Return what they take on disk."""
    return sum(copy.allocated_bytes for copy in copies)


def _root_named(reading: Reading, name: str) -> Root:
    root = reading.root(name)
    if root is None:
        raise UnknownObject(f"there is no root named `{name}`", remedy="`artifactctl root ls` lists them")
    return root


def _require_unused(writing: Writing, root: Root) -> None:
    unfinished = [each for each in writing.operations(root_id=root.root_id) if each.state not in FINISHED]
    if unfinished:
        raise RootInUse(
            f"{len(unfinished)} artifacts of {root.name} are in quarantine, {unfinished[0].artifact_name} among them",
            remedy="artifactctl quarantine ls    (restore or purge them first)",
        )
    here = {artifact.artifact_id for artifact in writing.artifacts_below(root.root_id, b"")}
    leases = writing.leases(writing.now, artifact_ids=here) if here else ()
    if leases:
        raise RootInUse(f"{leases[0].artifact_name} on {root.name} is leased", remedy="artifactctl lease ls")
