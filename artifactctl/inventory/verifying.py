"""Verifying: is every member there, is it whole, is it what was declared, is it still the same bytes.

Each level includes those before it. What was reached is stored with the fingerprint of the moment: a later change of
anything below makes the verification worthless, and whoever relies on it compares fingerprints.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from artifactctl.catalog import Catalog
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, VerifyLevel
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path
from artifactctl.domain.verification import Depth, ToRedo, VerifyResult
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.attesting import statements_for
from artifactctl.inventory.clients import Clients
from artifactctl.inventory.copies import Copy, read_copy
from artifactctl.inventory.declared import compare_with_declared
from artifactctl.inventory.digesting import check_digests
from artifactctl.inventory.finding import find_artifact
from artifactctl.inventory.headers import Found, Progress, inspect_members
from artifactctl.inventory.merges import judge_merge
from artifactctl.inventory.places import Here
from artifactctl.inventory.recording import CatalogRecorder
from artifactctl.inventory.redoing import expected_records, missing_words
from artifactctl.inventory.targets import local_roots, require_recorded_volume
from artifactctl.inventory.writers import who_may_write, who_may_write_elsewhere, why_nobody_knows

MOST_PROBLEMS = 50
"""Problems beyond are counted, not listed."""

_NO_PROOF = "it does not count as proof for removing something else"


HEADERS = Depth()


def verify(
    host: Host,
    catalog: Catalog,
    name: str,
    *,
    here: Here,
    now: datetime,
    actor: str,
    depth: Depth = HEADERS,
    progress: Progress | None = None,
    clients: Clients | None = None,
) -> tuple[VerifyResult, ...]:
    """Verify every living copy of an artifact on this machine and store the outcome; one result a copy.

    Where the depth reads values each result says what is to be redone.
    """
    with catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=here)
        ours = {root.root_id for root in local_roots(host, reading)}
    replicas = [r for r in artifact.replicas if r.state in VERIFIABLE and r.root.root_id in ours]
    if not replicas:
        machine = host.identify().elsewhere or "this machine"
        raise UnknownObject(f"{artifact.name} has no living copy on {machine}", remedy=f"artifactctl show {name}")
    return tuple(
        _verify_copy(
            host,
            catalog,
            artifact,
            replica,
            depth,
            now=now,
            actor=actor,
            progress=progress,
            clients=clients or Clients(),
        )
        for replica in replicas
    )


VERIFIABLE = (ReplicaState.LIVE, ReplicaState.BUILDING)


def verify_named(
    host: Host,
    catalog: Catalog,
    *,
    names: Sequence[str],
    here: Here,
    now: datetime,
    actor: str,
    depth: Depth = HEADERS,
    progress: Progress | None = None,
    clients: Clients | None = None,
) -> Iterator[VerifyResult]:
    """Verify what the names mean, in their order."""
    for name in names:
        yield from verify(
            host,
            catalog,
            name,
            here=here,
            now=now,
            actor=actor,
            depth=depth,
            progress=progress,
            clients=clients,
        )


def names_here(host: Host, catalog: Catalog) -> tuple[str, ...]:
    """Return the names of everything that has a living copy on this machine."""
    with catalog.reading() as reading:
        here = {root.root_id for root in local_roots(host, reading)}
        return tuple(
            artifact.name
            for artifact in reading.artifacts(state=ReplicaState.LIVE)
            if any(r.state is ReplicaState.LIVE and r.root.root_id in here for r in artifact.replicas)
        )


def _verify_copy(
    host: Host,
    catalog: Catalog,
    artifact: Artifact,
    replica: Replica,
    depth: Depth,
    *,
    now: datetime,
    actor: str,
    progress: Progress | None,
    clients: Clients,
) -> VerifyResult:
    require_recorded_volume(host, replica.root, catalog_id=catalog.lineage_id)
    level = depth.level
    problems: list[str] = []
    reservations: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    found = Found()
    fingerprint = ""
    try:
        problems += _who_is_writing(host.contents(replica.root, _target(replica)))
        copy = read_copy(host, catalog, artifact, replica)
        fingerprint = copy.fingerprint
        problems += copy.problems
        if level is not VerifyLevel.MEMBERS:
            found = inspect_members(host, artifact, copy, reads_values=depth.reads_values, progress=progress)
            problems += [*found.problems, *_against_declared(catalog, artifact, replica, found)]
            merge = judge_merge(host, catalog, artifact, copy)
            problems += merge.problems
            doubts = merge.doubts
        if level is VerifyLevel.DIGESTS and not copy.problems:
            problems += check_digests(host, catalog, artifact, copy, now=now, actor=actor, progress=progress)
        if not problems:
            after = host.contents(replica.root, _target(replica))
            problems += _changed_meanwhile(replica, copy, after) or _who_is_writing(after)
            others = _elsewhere(host, catalog, replica, after, clients)
            problems += others.problems
            reservations = (*others.reservations, *(f"{_NO_PROOF}: {doubt}" for doubt in doubts))
            if level is not VerifyLevel.DIGESTS:
                reservations = (*_unhashed(artifact, replica, fingerprint, doubted=bool(reservations)), *reservations)
    except HostFailure as failure:
        problems.append(failure.message)
    result = VerifyResult(
        name=artifact.name,
        host=host.identify().hostname,
        path=replica.root.path + b"/" + replica.relative,
        ok=not problems,
        level=level,
        problems=_shortened(problems),
        tokens=found.tokens,
        records=found.records,
        reservations=() if problems else reservations,
        redo=_to_redo(catalog, artifact, replica, found) if depth.reads_values else None,
    )
    _store(host, catalog, replica, result, fingerprint, now=now, actor=actor)
    return result


def _against_declared(catalog: Catalog, artifact: Artifact, replica: Replica, found: Found) -> list[str]:
    """Return what differs from what was declared, with the numbers of the records that are not there."""
    problems = compare_with_declared(artifact, replica, found)
    missing = missing_words(_to_redo(catalog, artifact, replica, found)) if problems else ""
    return [*problems, f"missing records: {missing}"] if missing else problems


def _to_redo(catalog: Catalog, artifact: Artifact, replica: Replica, found: Found) -> tuple[ToRedo, ...]:
    if artifact.records is not None and artifact.records == found.redoing.whole:
        return ()  # its numbers have holes, which were known when its records were declared
    with catalog.reading() as reading:
        expected = expected_records(reading, artifact, folder=replica.relative.rpartition(b"/")[2])
    return found.redoing.listed(expected)


def _who_is_writing(seen: ContentLook) -> tuple[str, ...]:
    """Return who may change the content while it is read, and after that without a trace; () when nobody was seen."""
    writer = who_may_write(seen.writers) if seen.is_there else ""
    return (f"nothing is verified while it may be changing: {writer}",) if writer else ()


def _unhashed(artifact: Artifact, replica: Replica, fingerprint: str, *, doubted: bool) -> tuple[str, ...]:
    """Return that bytes which changed are not known to be those whose digests are stored; headers cannot tell.

    A copy that was `doubted` whenever it was looked at has no proven fingerprint to tell a change by.
    """
    proven = replica.verified_fingerprint
    if not artifact.content_digest or proven == fingerprint or (doubted and not proven):
        return ()
    since = "it changed since its digests were stored, and only" if proven else "its digests are stored, and only"
    return (
        f"{_NO_PROOF}: {since} `artifactctl verify {artifact.name} --level digests` says whether its bytes are still "
        "those",
    )


def _changed_meanwhile(replica: Replica, before: Copy, after: ContentLook) -> tuple[str, ...]:
    if after.problems or after.fingerprint != before.fingerprint:
        return (f"{display_path(replica.relative)} changed while it was being verified",)
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """What is known of writers here and on the other machines that mount the volume."""

    problems: tuple[str, ...] = ()
    reservations: tuple[str, ...] = ()


def _elsewhere(host: Host, catalog: Catalog, replica: Replica, seen: ContentLook, clients: Clients) -> _Others:
    """Return who on another machine may be writing, else why a copy that is whole proves nothing for others."""
    if not seen.is_there:
        return _Others()
    with catalog.reading() as reading:
        statement = statements_for(reading, host.identify()).get(replica.root.root_id)
    named = statement.elsewhere if statement is not None else ()
    looks = clients.writers_to(named, replica.root, replica.relative, seen, catalog_id=catalog.lineage_id)
    writer = who_may_write_elsewhere(looks)
    if writer:
        return _Others(problems=(f"nothing is verified while it may be changing: {writer}",))
    doubt = why_nobody_knows(seen.writers, statement, looks)
    return _Others(reservations=(f"{_NO_PROOF}: {doubt}",) if doubt else ())


def _target(replica: Replica) -> ManagedPath:
    return ManagedPath(root=replica.root.path, relative=replica.relative)


def _shortened(problems: list[str]) -> tuple[str, ...]:
    if len(problems) <= MOST_PROBLEMS:
        return tuple(problems)
    return (*problems[:MOST_PROBLEMS], f"and {len(problems) - MOST_PROBLEMS} problems more")


def _store(
    host: Host,
    catalog: Catalog,
    replica: Replica,
    result: VerifyResult,
    fingerprint: str,
    *,
    now: datetime,
    actor: str,
) -> None:
    recorder = CatalogRecorder(catalog, replica.root, hostname=host.identify().hostname, actor=actor, now=now)
    proven = not result.reservations or replica.verified_fingerprint == fingerprint  # what was proven once stays so
    proof = fingerprint if proven else ""
    with catalog.writing(actor, now) as writing:
        writing.set_verified(replica.replica_id, result.level, proof, ok=result.ok, problems=result.problems)
        recorder.audit_in(
            writing,
            AuditAction.ARTIFACT_VERIFY if result.ok else AuditAction.ARTIFACT_VERIFY_FAILED,
            result.name,
            replica.relative,
            level=result.level.value,
            fingerprint=fingerprint,
            problems=list(result.problems),
            reservations=list(result.reservations),
        )
