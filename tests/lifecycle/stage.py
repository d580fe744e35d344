"""The ground of the engine's tests as histories act on it: every act is one of a person or of a program."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from artifactctl import audit
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, Root, VerifyLevel
from artifactctl.domain.errors import ArtifactctlError
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.holding import add_hold
from artifactctl.reclaim import applying
from artifactctl.reclaim.locking import locked_roots
from artifactctl.reclaim.preparing import Wish, prepare
from artifactctl.reclaim.quarantined import Quarantined, expired, in_quarantine, unproven_grace
from tests.fakes.processes import PlantedHolder
from tests.fakes.steps import Killed
from tests.lifecycle.model import Copy, Known, Promise, Tree, World
from tests.reclaim.ground import DAY, Ground
from tests.reclaim.second_root import OTHER, second_copy, second_root

GRACE = timedelta(days=7)


@dataclass
class Stage:
    """One machine with two roots, its catalog, and the model of it. `refused` counts what the engine would not do."""

    folder: Path
    template: Path
    ground: Ground = field(init=False)
    world: World = field(init=False)
    other: Root = field(init=False)
    opened: list[tuple[str, PlantedHolder]] = field(default_factory=list)
    plans: list[ReclaimPlan] = field(default_factory=list)
    refused: int = 0
    clock_is_off: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        shutil.copy(self.template, self.folder / "catalog.db")
        self.ground = Ground(folder=self.folder)
        self.world = World(now=self.ground.now())
        self.other = second_root(self.ground)

    # --- what people and programs do -----------------------------------------------------------------------------

    def make(self, name: str, kind: ArtifactKind, *, inputs: tuple[str, ...], role: LineageRole) -> None:
        """A stage writes and registers something new; a day passes."""
        self.ground.artifact(name, kind=kind)
        for one in inputs:
            self.ground.link(name, one, role)
        self.passed(DAY)
        needs, built = (inputs, ()) if role.needs_parent else ((), inputs)
        self.world.artifacts[name] = Known(name=name, built_from=built, needs=needs)
        self.world.copies.append(Copy(artifact=name, root=b"/data", tree=self.tree(b"/data/" + name.encode())))

    def archive(self, name: str) -> None:
        """A second copy is made below the other root and verified."""
        second_copy(self.ground, self.other, name)
        self.passed(DAY)
        self.world.copies.append(Copy(artifact=name, root=OTHER, tree=self.tree(OTHER + b"/" + name.encode())))

    def verify(self, name: str) -> None:
        """Somebody verifies the first copy as it lies there."""
        replica = self.ground.replica(name)
        place = ManagedPath(root=replica.root.path, relative=replica.relative)
        seen = self.ground.machine.observe(self.ground.root, place, catalog_id=self.lineage, catalog_epoch=1)
        if seen.tree is None:
            return
        with self.ground.catalog.writing("ada@node-1", self.ground.now()) as writing:
            writing.set_verified(replica.replica_id, VerifyLevel.HEADERS, seen.tree.fingerprint, ok=True)
        self.world.artifacts[name].is_verified = True

    def supersede(self, old: str, new: str) -> None:
        """Somebody says that one replaces the other."""
        self.ground.supersede(old, new)
        self.world.artifacts[old].successor = new

    def hold(self, name: str) -> None:
        """Somebody asks to keep it; what the command promised counts, whatever the engine is at."""
        begun = self.begun(name)
        work, acting = self.ground, Acting(actor="bob@node-1", host="node-1", now=self.ground.now())
        add_hold(work.catalog, work.machine, work.known(name), reason="paper", until=None, acting=acting)
        self.world.artifacts[name].held = True
        self.promised_late(name, begun)

    def release(self, name: str) -> None:
        """Whoever held it releases it."""
        with self.ground.catalog.writing("bob@node-1", self.ground.now()) as writing:
            for hold in writing.holds(artifact_ids=(self.ground.known(name).artifact_id,)):
                writing.release_hold(hold.hold_id, reason="no more")
        self.world.artifacts[name].held = False

    def lease(self, name: str, term: timedelta) -> None:
        """A job takes a lease for a time."""
        begun = self.begun(name)
        now = self.ground.now()
        with self.ground.catalog.writing("job@node-1", now) as writing:
            writing.grant_lease(
                self.ground.known(name).artifact_id, owner="job", host="elsewhere", expires_at=now + term
            )
        promise = Promise(expires_at=now + term, boot=self.world.boot, taken_up=self.world.up, term=term)
        self.world.artifacts[name].leases.append(promise)
        self.promised_late(name, begun)

    def begun(self, name: str) -> set[bytes]:
        """Return the roots in which the purge of a copy has begun."""
        return {r.root.path for r in self.ground.known(name).replicas if r.state is ReplicaState.PURGING}

    def promised_late(self, name: str, begun: set[bytes]) -> None:
        """A promise about the artifact is none about a copy that was going already."""
        for copy in self.world.copies_of(name):
            copy.came_late = copy.came_late or copy.root in begun

    def open(self, name: str) -> None:
        """A job opens a shard at its place."""
        holder = self.ground.machine.processes.hold(b"/data/%s/shard-0" % name.encode())
        self.opened.append((name, holder))
        self.world.artifacts[name].opened += 1

    def close(self) -> None:
        """A job ends."""
        name, holder = self.opened.pop()
        holder.close()
        self.world.artifacts[name].opened -= 1

    def write(self, name: str) -> None:
        """A job appends to a shard at its place."""
        self.ground.machine.do.append(b"/data/%s/shard-0" % name.encode(), b"more")
        self.touched(name)

    def touched(self, name: str) -> None:
        """The copy at its place is another now."""
        for copy in self.world.copies_of(name):
            if copy.root == b"/data":
                copy.is_touched, copy.tree = True, self.tree(copy.path)

    def occupy(self, name: str) -> None:
        """Somebody begins anew at the old place of what lies in quarantine."""
        self.ground.machine.do.mkdir(b"/data/" + name.encode())
        self.ground.machine.do.write(b"/data/%s/new" % name.encode(), b"new")

    # --- time ----------------------------------------------------------------------------------------------------

    def passed(self, duration: timedelta) -> None:
        """Note that time passed, which the machine's clock knows already."""
        self.world.up += duration
        self.world.real += duration

    def wait(self, duration: timedelta) -> None:
        """Time passes."""
        self.ground.machine.clock.advance(duration)
        self.passed(duration)

    def set_clock(self, by: timedelta) -> None:
        """Somebody sets the clock; no time passes."""
        self.ground.machine.clock.set_ahead(by)
        self.clock_is_off += by

    def go_home(self) -> None:
        """Holds are released, jobs end, the clock is put right, and three days pass."""
        while self.opened:
            self.close()
        for known in self.world.artifacts.values():
            if known.held:
                self.release(known.name)
        self.set_clock(-self.clock_is_off)
        self.wait(3 * DAY)

    def reboot(self) -> None:
        """The machine starts anew: every process and lock is gone."""
        self.ground.machine.reboot()
        self.ground.reopen()
        self.world.boot += 1
        self.world.up = timedelta(0)
        self.opened.clear()
        for known in self.world.artifacts.values():
            known.opened = 0

    # --- the engine ----------------------------------------------------------------------------------------------

    def attempt(self, act: Callable[[], object], *, kill_at: int = 0, after: bool = False) -> None:
        """Do it as a command would: refused in our words, or killed at a step and found so by the next command."""
        machine = self.ground.machine
        machine.restart()
        if kill_at:
            machine.kill_at(kill_at, after=after)
        try:
            act()
        except ArtifactctlError:
            self.refused += 1
        except Killed:
            self.ground.reopen()
        finally:
            machine.restart()

    def plan(self, names: tuple[str, ...], *, purge_now: bool) -> None:
        """Somebody plans and keeps the plan for later."""
        chosen = []
        for name in names:
            artifact = self.ground.known(name)
            chosen += [(artifact, r) for r in artifact.replicas if r.state is ReplicaState.LIVE][:1]
        if chosen:
            self.plans.append(prepare(self.ground.workplace, Wish(chosen=tuple(chosen), purge_now=purge_now)))

    def aside(self) -> tuple[Quarantined, ...]:
        """Return what lies in quarantine and what is left of begun purges, as the catalog tells it."""
        with self.ground.catalog.reading() as reading:
            return in_quarantine(reading) + in_quarantine(reading, ReplicaState.PURGING)

    def purge(self, items: tuple[Quarantined, ...]) -> None:
        """Somebody purges by name."""
        applying.purge(self.ground.workplace, items, reason="old")

    def purge_expired(self) -> None:
        """The timer purges what is past its grace, as `quarantine purge --expired` chooses it."""
        workplace = self.ground.workplace
        with self.ground.catalog.reading() as reading:
            items = expired(reading, now=self.ground.now(), clock_trusted=workplace.trust(reading).clock)
        uptime = self.ground.machine.uptime()
        due = tuple(item for item in items if not unproven_grace(item, uptime))
        for item in due:
            copy = self.copy_of(item)
            assert copy.aside_at is not None
            assert self.world.real - copy.aside_at >= GRACE, f"{copy.artifact} was not in quarantine for its grace"
        if due:
            self.purge(due)

    def copy_of(self, item: Quarantined) -> Copy:
        """Return the model's copy of what lies in quarantine."""
        root, name = item.replica.root.path, item.artifact.name
        return next(copy for copy in self.world.copies if copy.artifact == name and copy.root == root)

    def recover(self) -> None:
        """The next command on the roots ends what a crash left."""
        with locked_roots(self.ground.workplace, [self.ground.root, self.other]):
            pass

    # --- looking -------------------------------------------------------------------------------------------------

    @property
    def lineage(self) -> str:
        """Which catalog it is."""
        return self.ground.catalog.lineage_id

    def tree(self, path: bytes) -> Tree:
        """Return every entry below a folder with its inode and size; {} where there is none."""
        machine = self.ground.machine
        if not machine.disk.exists(path):
            return {}
        return {
            listing.relative + b"/" + entry.name: (entry.inode, entry.size_bytes)
            for listing in machine.walk(path)
            for entry in listing.entries
        }

    def set_aside(self) -> list[Tree]:
        """Return the trees that lie in the quarantines, whatever journal and catalog say of them."""
        trees = []
        for root in (b"/data", OTHER):
            place = root + b"/.artifactctl/quarantine"
            with suppress(OSError, ArtifactctlError):
                folders = self.ground.machine.disk.find(place).inode.entries
                trees += [self.tree(place + b"/" + name + b"/content") for name in tuple(folders)]
        return [tree for tree in trees if tree]

    def chain_is_whole(self) -> bool:
        """Whether the audit chain proves itself."""
        with self.ground.catalog.reading() as reading:
            return audit.verify(reading.connection).ok
