"""The right to change a root: its lock on the machine, and its lease in the catalog that all machines share.

1. Take the root's lock. The kernel gives it to nobody else while its holder lives, frozen or not: on one machine this
   alone keeps two operators apart. It says nothing where another machine mounts the same volume.
2. Take the lease, whose fence is higher than any before it and than the one that stands in the root.
3. Write the fence into the root (`.artifactctl/fence.json`), before anything is recovered or changed there.

From then on every transaction of the catalog proves the lease (`Catalog.acting_under`), and before every act on the
root lock, lease and the root's own fence are asked again; the probe asks for the lock once more right before a rename.
An operator who was frozen and overtaken, whoever removed its lock, finds another fence in the catalog or in the root
and does no further step. What a filesystem cannot give is a rename that compares first: between the last question and
the system call lie microseconds.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from artifactctl import audit
from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Root
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.errors import ArtifactctlError, HostFailure
from artifactctl.domain.ledger import RootLease
from artifactctl.domain.plans import canonical_json
from artifactctl.hosts.protocol import Host, RootLock
from artifactctl.inventory.standing import require_in_charge

FENCE_TOPIC = "fence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changer:
    """Who wants to change roots of one machine. `say` receives one sentence an event."""

    host: Host
    catalog: Catalog
    actor: str
    clock: Callable[[], datetime]
    say: Callable[[str], None]


class FencedLock:
    """A root's lock together with the lease on it; held while nobody else has taken either."""

    def __init__(self, changer: Changer, root: Root, lock: RootLock, fence: int) -> None:
        self._changer = changer
        self._root = root
        self._lock = lock
        self.fence = fence

    def still_held(self) -> bool:
        """Whether the machine's lock, the catalog's lease and the fence in the root are all still ours."""
        if not self._lock.still_held():
            return False
        with self._changer.catalog.reading() as reading:
            lease = reading.root_lease(self._root.root_id)
        ours = lease is not None and lease.fence == self.fence and lease.released_at is None
        return ours and fence_in(self._changer, self._root) == self.fence

    def release(self) -> None:
        """Give the machine's lock up; the lease is given back by who took it."""
        self._lock.release()


@contextmanager
def right_to_change(changer: Changer, root: Root) -> Iterator[FencedLock]:
    """Hold the right to change a root; Busy when somebody has it, NotInCharge where this catalog must not act."""
    lock = changer.host.lock(root)
    try:
        require_in_charge(changer.host, changer.catalog, root)
        lease = _take(changer, root)
        with changer.catalog.acting_under(root.root_id, lease.fence):
            try:
                _write_fence(changer, root, lease.fence)
                yield FencedLock(changer, root, lock, lease.fence)
            finally:
                _give_back(changer, root, lease.fence)
    finally:
        lock.release()


def fence_in(changer: Changer, root: Root) -> int:
    """Return the fence that stands in the root as this catalog wrote it, 0 when there is none of it."""
    content = changer.host.read_mirror(root.path, FENCE_TOPIC)
    if content is None:
        return 0
    try:
        told = json.loads(content)
        return int(told["fence"]) if told["catalog_id"] == changer.catalog.lineage_id else 0
    except (ValueError, KeyError, TypeError) as error:
        raise HostFailure(
            f"the fence in the root `{root.name}` cannot be read ({error})",
            remedy="when no other command runs there, remove .artifactctl/fence.json and run this one again",
        ) from error


def _take(changer: Changer, root: Root) -> RootLease:
    seen = fence_in(changer, root)
    machine_id = changer.host.identify().machine_id
    with changer.catalog.writing(changer.actor, changer.clock()) as writing:
        before = writing.root_lease(root.root_id)
        lease = writing.take_root(root.root_id, machine_id=machine_id, above=seen)
        if before is not None and before.released_at is None:
            entry = AuditEntry(
                at=changer.clock(),
                actor=changer.actor,
                host=changer.host.identify().hostname,
                action=AuditAction.ROOT_TAKE_OVER,
                path=root.path,
                reason=f"{before.holder} did not give it back",
            )
            audit.append(writing.connection, entry)
    return lease


def _write_fence(changer: Changer, root: Root, fence: int) -> None:
    content = {"schema": "artifactctl.fence/1", "catalog_id": changer.catalog.lineage_id, "fence": fence}
    changer.host.mirror(root.path, FENCE_TOPIC, canonical_json(content).encode("ascii"))


def _give_back(changer: Changer, root: Root, fence: int) -> None:
    """Release the lease; when the catalog cannot be reached it runs out, and this must not hide what happened."""
    try:
        changer.catalog.give_root_back(root.root_id, fence, actor=changer.actor, now=changer.clock())
    except ArtifactctlError as failure:
        changer.say(f"the lease on `{root.name}` was not given back: {failure.message}")
