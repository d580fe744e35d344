"""Which epochs of a catalog the markers of its roots name."""

from collections.abc import Iterable
from dataclasses import dataclass

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostFailure
from artifactctl.hosts.protocol import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class RootEpochs:
    """The epochs of a lineage that stand in the roots of some machines, and the roots that could not say."""

    epochs: tuple[int, ...] = ()
    unreachable: tuple[str, ...] = ()


def epochs_on(host: Host, roots: Iterable[Root], lineage_id: str) -> tuple[list[int], tuple[str, ...]]:
    """Return the epochs in the markers of this lineage, and the names of roots whose marker could not be read.

    A root that was registered without a marker has none to read.
    """
    epochs, unreachable = [], []
    for root in (each for each in roots if each.is_marked):
        try:
            marker = host.read_marker(root.path)
        except HostFailure:
            marker = None
        if marker is None:
            unreachable.append(root.name)
        elif marker.catalog_id == lineage_id:
            epochs.append(marker.catalog_epoch)
    return epochs, tuple(sorted(unreachable))
