"""Scanning: recognise, register, compare, and say what is nobody's."""

from collections.abc import Collection, Sequence
from datetime import datetime

from artifactctl.catalog import Catalog
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.stock import ScanReport, together
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.failures import NothingThere
from artifactctl.inventory.known import AT_ITS_PATH
from artifactctl.inventory.outcomes import Outcomes, Progress
from artifactctl.inventory.recording import CatalogRecorder, NobodyRecords, Recorder
from artifactctl.inventory.stocktaking import Stocktaking
from artifactctl.inventory.targets import Target, local_roots, require_recorded_volume, targets_of


def scan(
    host: Host,
    catalog: Catalog,
    words: Sequence[bytes] = (),
    *,
    now: datetime,
    actor: str,
    accept: Collection[str] = (),
    progress: Progress | None = None,
) -> ScanReport:
    """Take stock of roots or paths (none: every root of this machine) and record it.

    `accept` names sealed artifacts whose drift becomes what the catalog says. NotTheRecordedVolume before anything is
    recorded when a root is not mounted as it was added.
    """
    hostname = host.identify().hostname
    targets = _ready_targets(host, catalog, words, accept)

    def recorder_for(target: Target) -> Recorder:
        return CatalogRecorder(catalog, target.root, hostname=hostname, actor=actor, now=now)

    return together(_take_stock(host, catalog, target, recorder_for(target), accept, progress) for target in targets)


def look(
    host: Host,
    catalog: Catalog,
    words: Sequence[bytes] = (),
    *,
    accept: Collection[str] = (),
    progress: Progress | None = None,
) -> ScanReport:
    """Return what `scan` would report, writing nothing."""
    targets = _ready_targets(host, catalog, words, accept)
    return together(_take_stock(host, catalog, target, NobodyRecords(), accept, progress) for target in targets)


def _ready_targets(host: Host, catalog: Catalog, words: Sequence[bytes], accept: Collection[str]) -> tuple[Target, ...]:
    asked = [_widened(catalog, target) for target in targets_of(host, catalog, words)]
    targets = tuple(dict.fromkeys(asked + [target for name in accept for target in _places(host, catalog, name)]))
    for root in dict.fromkeys(target.root for target in targets):
        require_recorded_volume(host, root, catalog_id=catalog.lineage_id)
    for target in targets:
        _require_something(host, catalog, target)
    return tuple(t for t in targets if not any(t != o and o.root == t.root and o.covers(t.relative) for o in targets))


def _places(host: Host, catalog: Catalog, name: str) -> list[Target]:
    """Return where the copies of an artifact are whose drift is to be accepted."""
    with catalog.reading() as reading:
        artifact = reading.artifact(name)
        here = {root.root_id for root in local_roots(host, reading)}
    if artifact is None:
        raise UnknownObject(
            f"the catalog knows no artifact `{name}` to accept", remedy="`artifactctl ls` lists the names"
        )
    return [
        Target(root=replica.root, relative=replica.relative)
        for replica in artifact.replicas
        if replica.root.root_id in here and replica.state in AT_ITS_PATH
    ]


def _widened(catalog: Catalog, target: Target) -> Target:
    """Return the outermost artifact around a target, since members are compared as a whole."""
    if not target.relative:
        return target
    with catalog.reading() as reading:
        around = reading.artifacts_above(target.root.root_id, target.relative)
        for replica in around[0].replicas if around else ():
            if replica.root.root_id == target.root.root_id and target.relative.startswith(replica.relative + b"/"):
                return Target(root=target.root, relative=replica.relative)
    return target


def _require_something(host: Host, catalog: Catalog, target: Target) -> None:
    if host.identity(target.absolute) is not None:
        return
    with catalog.reading() as reading:
        known = reading.artifact_at(target.root.root_id, target.relative)
        if known is None and not reading.artifacts_below(target.root.root_id, target.relative):
            raise NothingThere(f"nothing is at {display_path(target.absolute)}", remedy="check the path")


def _take_stock(
    host: Host,
    catalog: Catalog,
    target: Target,
    recorder: Recorder,
    accept: Collection[str],
    progress: Progress | None,
) -> ScanReport:
    outcomes = Outcomes(target.root, recorder, host_time=host.now(), progress=progress)
    Stocktaking(host, catalog, target, outcomes, accept=frozenset(accept)).run()
    return outcomes.report()
