"""What our own acts did to inodes with several names: recorded on the fake disk, and taken back in a later look."""

import json
from collections.abc import Callable, Mapping

from artifactctl.hosts.protocol import EntryType
from tests.fakes.disk import Disk, Spot
from tests.fakes.ledger import Ledger
from tests.fakes.operation import Operation
from tests.fakes.processes import ProcessTable

Moment = tuple[int, int]
"""(ctime in nanoseconds, number of links)."""


def witnessed(
    ledger: Ledger, processes: ProcessTable, path: bytes, act: Callable[[], None], *, whole: bool = False
) -> None:
    """Do `act`, which unlinks or renames `path`, and record what it did to a file or link that has other names.

    `whole`: it is a target on its way into quarantine; of a file that is recorded in any case.
    """
    spot = ledger.disk.find(path)
    is_whole = whole and spot.inode.type is EntryType.FILE
    inode, alone = spot.inode, _is_ours_alone(spot, processes) or (is_whole and spot.inode.links == 1)
    before = _facts(spot)
    act()
    if alone and inode.links and (before["links"] > 1 or is_whole):
        ledger.note_own_change(json.dumps([before, _facts_of(spot, inode.changed_ns, inode.links)]))


def excused(ledger: Ledger, disk: Disk, operation: Operation) -> Mapping[int, int]:
    """Return by inode number the ctime of the manifest, for members that only our own acts have changed."""
    manifest = operation.manifest(ledger)
    changes = [tuple(json.loads(line)) for line in ledger.own_changes()]
    if manifest is None or not changes:
        return {}
    found = {}
    volume = disk.find(ledger.root).mount.volume
    for entry in manifest.members:
        inode = volume.inodes.get(entry.inode)
        if inode is None or (inode.size_bytes, inode.modified_ns) != (entry.size_bytes, entry.modified_ns):
            continue
        following = {_moment(before): _moment(after) for before, after in changes if before["inode"] == entry.inode}
        moment = (entry.changed_ns, entry.links)
        while moment in following and moment != (inode.changed_ns, inode.links):
            moment = following[moment]
        if moment == (inode.changed_ns, inode.links):
            found[entry.inode] = entry.changed_ns
    return found


def _is_ours_alone(spot: Spot, processes: ProcessTable) -> bool:
    if spot.inode.type is EntryType.SYMLINK:
        return True
    leased = spot.mount.volume.grants_leases and not processes.refuses_lease(spot)
    return spot.inode.type is EntryType.FILE and leased


def _facts(spot: Spot) -> dict[str, int]:
    return _facts_of(spot, spot.inode.changed_ns, spot.inode.links)


def _facts_of(spot: Spot, changed_ns: int, links: int) -> dict[str, int]:
    return {"inode": spot.number, "changed_ns": changed_ns, "links": links}


def _moment(facts: Mapping[str, int]) -> Moment:
    return facts["changed_ns"], facts["links"]
