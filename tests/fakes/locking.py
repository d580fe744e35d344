"""The exclusive lock of each root, and a record of who changed a root without it."""

from dataclasses import dataclass, field

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import Busy, HostFailure


@dataclass(slots=True, eq=False)
class FakeLock:
    """One taken lock. It is lost when the table no longer names it."""

    table: "LockTable"
    root_id: str

    def still_held(self) -> bool:
        """Whether nobody took it over."""
        return self.table.held.get(self.root_id) is self

    def release(self) -> None:
        """Give it up; a lost lock stays with whoever has it now."""
        if self.still_held():
            del self.table.held[self.root_id]
        if self.table.granted.get(self.root_id) is self:
            del self.table.granted[self.root_id]


@dataclass(slots=True)
class LockTable:
    """`held` is who has a root's lock, `granted` which one this machine's program believes to have.

    `unlocked_changes` counts changes to a root that nobody had locked: an engine must leave it at zero.
    """

    held: dict[str, FakeLock] = field(default_factory=dict)
    granted: dict[str, FakeLock] = field(default_factory=dict)
    unlocked_changes: int = 0

    def take(self, root: Root) -> FakeLock:
        """Return the lock; `Busy` when somebody has it."""
        if root.root_id in self.held:
            raise Busy(f"root {root.name} is locked by artifactctl (pid 4242)", remedy="wait for it to finish")
        lock = self.held[root.root_id] = self.granted[root.root_id] = FakeLock(self, root.root_id)
        return lock

    def steal(self, root: Root) -> FakeLock:
        """Another machine takes the lock over: whoever held it is not told."""
        lock = self.held[root.root_id] = FakeLock(self, root.root_id)
        return lock

    def free_all(self) -> None:
        """The program that held them is gone."""
        self.held.clear()
        self.granted.clear()

    def is_lost(self, root: Root) -> bool:
        """Whether the program believes to hold a lock that somebody else has taken over."""
        granted = self.granted.get(root.root_id)
        return granted is not None and not granted.still_held()

    def check_before_change(self, root: Root) -> None:
        """Called by the machine before anything below the root changes: without a lock the change takes its own."""
        if self.is_lost(root):
            raise HostFailure(f"the lock of root {root.name} was lost to somebody else", remedy="run it again")
        if root.root_id not in self.granted:
            self.take(root).release()
            self.unlocked_changes += 1
