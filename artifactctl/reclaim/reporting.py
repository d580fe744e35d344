"""Gathering what `artifactctl report` tells: the overview, what could go and why not, families, the newest events."""

from collections.abc import Callable, Iterable, Sequence

from artifactctl import audit
from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.inventory.browsing import family_of
from artifactctl.inventory.machines import roots_here
from artifactctl.reclaim.planning import Subject, evidence_about
from artifactctl.reclaim.preparing import judge_each
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.lineage import Family
from artifactctl.report.overview import Overview
from artifactctl.report.prospects import Prospect
from artifactctl.report.stock_report import StockReport

EVENTS = 40
FAMILIES = 5


def take_report(
    catalog: Catalog, overview: Overview, prospects: Iterable[Prospect], *, hostname: str, version: str
) -> StockReport:
    """Return the report over what the machines that answered said, which `hostname` names."""
    with catalog.reading() as reading:
        families = _families(reading)
        events = audit.newest(reading.connection, EVENTS)
    return StockReport(
        hostname=hostname,
        version=version,
        overview=overview,
        prospects=tuple(prospects),
        families=families,
        events=events,
    )


def prospects_on(
    workplace: Workplace, *, looking_at: Callable[[str], None] = lambda name: None
) -> tuple[Prospect, ...]:
    """Look at every living copy on one machine as `why` does; writes nothing."""
    machine = workplace.host.identify()
    with workplace.catalog.reading() as reading:
        here = {root.root_id for root in roots_here(reading, machine)}
        pairs = [
            (artifact, replica)
            for artifact in reading.artifacts(state=ReplicaState.LIVE)
            for replica in artifact.replicas
            if replica.state is ReplicaState.LIVE and replica.root.root_id in here
        ]
    judged = judge_each(workplace, pairs, looking_at=looking_at)
    return tuple(_prospect(workplace, subject, machine.hostname) for subject in judged)


def _prospect(workplace: Workplace, subject: Subject, hostname: str) -> Prospect:
    artifact, tree = subject.candidate.artifact, subject.observation.tree
    return Prospect(
        name=artifact.name,
        kind=artifact.kind.value,
        host=hostname,
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
