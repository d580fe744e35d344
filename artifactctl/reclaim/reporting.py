"""Gathering what `artifactctl report` tells: the overview, what could go and why not, families, the newest events."""

from collections.abc import Callable, Sequence

from artifactctl import audit
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState
from artifactctl.inventory.browsing import family_of
from artifactctl.inventory.machines import known_machine
from artifactctl.reclaim.overview import take_overview
from artifactctl.reclaim.planning import Subject, evidence_about
from artifactctl.reclaim.preparing import judge_each
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.lineage import Family
from artifactctl.report.prospects import Prospect
from artifactctl.report.stock_report import StockReport

EVENTS = 40
FAMILIES = 5


def take_report(
    workplace: Workplace, *, version: str, looking_at: Callable[[str], None] = lambda name: None
) -> StockReport:
    """Return the report for this machine. Looks at every living copy as `why` does; writes nothing."""
    now = workplace.clock()
    with workplace.catalog.reading() as reading:
        overview = take_overview(workplace.host, reading, now=now)
        pairs = _living_here(workplace, reading)
        families = _families(reading)
        events = audit.newest(reading.connection, EVENTS)
    return StockReport(
        hostname=workplace.host.identify().hostname,
        version=version,
        overview=overview,
        prospects=tuple(_prospect(workplace, s) for s in judge_each(workplace, pairs, looking_at=looking_at)),
        families=families,
        events=events,
    )


def _living_here(workplace: Workplace, reading: Reading) -> list[tuple[Artifact, Replica]]:
    machine = known_machine(reading, workplace.host.identify())
    return [
        (artifact, replica)
        for artifact in reading.artifacts(state=ReplicaState.LIVE)
        for replica in artifact.replicas
        if replica.state is ReplicaState.LIVE and machine is not None and replica.root.host_id == machine.host_id
    ]


def _prospect(workplace: Workplace, subject: Subject) -> Prospect:
    artifact, tree = subject.candidate.artifact, subject.observation.tree
    return Prospect(
        name=artifact.name,
        kind=artifact.kind.value,
        path=subject.observation.path,
        allocated_bytes=tree.allocated_bytes if tree is not None else subject.candidate.replica.allocated_bytes,
        freed_bytes=tree.exclusive_bytes if tree is not None else 0,
        offered_by=subject.candidate.offered_by,
        evidence=evidence_about(workplace.guards, subject),
    )


def _families(reading: Reading) -> tuple[Family, ...]:
    """Return the families of the largest artifacts that have relatives."""
    related = {end for edge in reading.edges() for end in (edge.child_id, edge.parent_id)}
    mine: Sequence[Artifact] = [a for a in reading.artifacts() if a.artifact_id in related and a.allocated_bytes]
    largest = sorted(mine, key=lambda artifact: (-artifact.allocated_bytes, artifact.name))[:FAMILIES]
    return tuple(family_of(reading, artifact, up=True, down=True) for artifact in largest)
