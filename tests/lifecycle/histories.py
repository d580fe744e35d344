"""A random history: who does what next, what comes in between, where it is killed, and what must always hold."""

import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, Root
from artifactctl.domain.errors import ArtifactctlError
from artifactctl.reclaim import applying
from tests.lifecycle.model import Copy
from tests.lifecycle.stage import Stage

NAMES = ("corpus", "corpus-b", "hs-a", "hs-b", "vocab", "draft")
TWICE = ("hs-a", "hs-b")
CALLS = ("intend", "set_aside", "observe_quarantined", "confirm", "begin_purge", "purge", "put_back")
MEANWHILE = ("hold", "lease", "open", "write", "occupy", "stolen", "restore", "overtaken")

names = st.one_of(st.sampled_from(TWICE), st.sampled_from(NAMES))
kills = st.one_of(st.just(0), st.integers(1, 30))
some_time = st.sampled_from([timedelta(minutes=20), timedelta(hours=5), timedelta(days=2), timedelta(days=8)])


class History(RuleBasedStateMachine):
    """Two roots, six artifacts that hang on each other, people, jobs, a timer, and an engine that is killed."""

    template: ClassVar[Path]
    steps_made: ClassVar[int] = 0
    purges_seen: ClassVar[int] = 0
    refusals_seen: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.cleanup = ExitStack()
        folder = self.cleanup.enter_context(tempfile.TemporaryDirectory(prefix="history-"))
        self.stage = Stage(folder=Path(folder), template=self.template)
        self.cleanup.callback(lambda: self.stage.ground.close())

    def teardown(self) -> None:
        History.refusals_seen += self.stage.refused
        self.cleanup.close()

    @initialize()
    def begin(self) -> None:
        """What there is: two sets of hidden states from two corpora, and a draft that needs its vocabulary map."""
        made = LineageRole.EXTRACTED_FROM
        self.stage.make("corpus", ArtifactKind.MERGED_CORPUS, inputs=(), role=made)
        self.stage.make("corpus-b", ArtifactKind.MERGED_CORPUS, inputs=(), role=made)
        self.stage.make("hs-a", ArtifactKind.HIDDEN_STATES, inputs=("corpus",), role=made)
        self.stage.make("hs-b", ArtifactKind.HIDDEN_STATES, inputs=("corpus", "corpus-b"), role=made)
        self.stage.make("vocab", ArtifactKind.VOCAB_MAP, inputs=(), role=made)
        self.stage.make("draft", ArtifactKind.DRAFT_MODEL, inputs=("vocab",), role=LineageRole.MAPPED_WITH)

    # --- people and jobs -----------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(TWICE))
    def archive(self, name: str) -> None:
        copies = [copy for copy in self.stage.world.copies if copy.artifact == name]
        if len(copies) == 1 and self.is_at_its_place(copies[0]) and not copies[0].is_touched:
            self.stage.archive(name)

    @rule(name=names)
    def verify(self, name: str) -> None:
        self.stage.attempt(lambda: self.stage.verify(name))

    @rule(pair=st.sampled_from([("corpus", "corpus-b"), ("hs-a", "hs-b")]))
    def supersede(self, pair: tuple[str, str]) -> None:
        self.stage.attempt(lambda: self.stage.supersede(*pair))

    @rule(name=names)
    def hold(self, name: str) -> None:
        self.stage.attempt(lambda: self.stage.hold(name))

    @rule(name=names)
    def release(self, name: str) -> None:
        self.stage.attempt(lambda: self.stage.release(name))

    @rule(name=names, term=some_time)
    def lease(self, name: str, term: timedelta) -> None:
        self.stage.attempt(lambda: self.stage.lease(name, term))

    @rule(name=names)
    def open(self, name: str) -> None:
        if self.is_there(name):
            self.stage.open(name)

    @precondition(lambda self: self.stage.opened)
    @rule()
    def close(self) -> None:
        self.stage.close()

    @rule(name=st.sampled_from(TWICE))
    def write(self, name: str) -> None:
        if self.is_there(name):
            self.stage.write(name)

    # --- time ----------------------------------------------------------------------------------------------------

    @rule(duration=some_time)
    def wait(self, duration: timedelta) -> None:
        self.stage.wait(duration)

    @rule(duration=some_time, ahead=st.booleans())
    def set_clock(self, duration: timedelta, ahead: bool) -> None:
        self.stage.set_clock(duration if ahead else -duration)

    @rule()
    def reboot(self) -> None:
        self.stage.reboot()

    @rule()
    def quiet(self) -> None:
        """Everybody goes home, the clock is put right, and three days pass."""
        self.stage.go_home()

    # --- the engine ----------------------------------------------------------------------------------------------

    @rule(chosen=st.lists(names, min_size=1, max_size=3, unique=True), purge_now=st.booleans())
    def plan(self, chosen: list[str], purge_now: bool) -> None:
        self.stage.attempt(lambda: self.stage.plan(tuple(chosen), purge_now=purge_now))

    @rule(name=st.sampled_from(TWICE), purge_now=st.booleans(), kill_at=kills, after=st.booleans(), calm=st.booleans())
    def reclaim(self, name: str, purge_now: bool, kill_at: int, after: bool, calm: bool) -> None:
        """As `reclaim NAME --yes`: planned and carried out in one command; `calm` is after everybody went home."""
        if calm:
            self.stage.go_home()
        self.stage.attempt(lambda: self.stage.plan((name,), purge_now=purge_now))
        if self.stage.plans:
            newest = self.stage.plans[-1]
            self.stage.attempt(lambda: self.stage.ground.apply(newest), kill_at=kill_at, after=after)

    @precondition(lambda self: self.stage.plans)
    @rule(resume=st.booleans(), kill_at=kills, after=st.booleans(), late=st.booleans())
    def apply(self, resume: bool, kill_at: int, after: bool, late: bool) -> None:
        plan = self.stage.plans[-1 if not late else 0]
        work = self.stage.ground
        self.stage.attempt(lambda: work.apply(plan, resume=resume), kill_at=kill_at, after=after)

    @rule(call=st.sampled_from(CALLS), what=st.sampled_from(MEANWHILE), name=names, is_before=st.booleans())
    def apply_while(self, call: str, what: str, name: str, is_before: bool) -> None:
        if self.is_there(name):
            self.stage.go_home()
            self.stage.attempt(lambda: self.stage.plan((name,), purge_now=True))
        self.disturb(call, what, name, is_before=is_before)
        if self.stage.plans:
            self.stage.attempt(lambda: self.stage.ground.apply(self.stage.plans[-1]))
        self.undisturb()

    @precondition(lambda self: self.stage.aside())
    @rule(kill_at=kills, after=st.booleans())
    def purge(self, kill_at: int, after: bool) -> None:
        self.stage.attempt(lambda: self.stage.purge(self.stage.aside()), kill_at=kill_at, after=after)

    @precondition(lambda self: self.stage.aside())
    @rule(call=st.sampled_from(CALLS), what=st.sampled_from(MEANWHILE), name=names, is_before=st.booleans())
    def purge_while(self, call: str, what: str, name: str, is_before: bool) -> None:
        self.disturb(call, what, name, is_before=is_before)
        self.stage.attempt(lambda: self.stage.purge(self.stage.aside()))
        self.undisturb()

    @rule(kill_at=kills, after=st.booleans())
    def purge_expired(self, kill_at: int, after: bool) -> None:
        self.stage.attempt(self.stage.purge_expired, kill_at=kill_at, after=after)

    @precondition(lambda self: self.stage.aside())
    @rule(kill_at=kills, after=st.booleans())
    def restore(self, kill_at: int, after: bool) -> None:
        self.stage.attempt(self.put_everything_back, kill_at=kill_at, after=after)

    @rule()
    def recover(self) -> None:
        """The next command comes; afterwards catalog and disk say the same, and another one finds nothing to do."""
        self.stage.attempt(self.stage.recover)
        said = self.picture()
        self.stage.attempt(self.stage.recover)
        assert self.picture() == said
        self.catalog_agrees()

    def put_everything_back(self) -> None:
        """As `quarantine restore` of everything that lies there."""
        aside = [item for item in self.stage.aside() if item.replica.state is ReplicaState.QUARANTINED]
        applying.restore(self.stage.ground.workplace, aside, to=None, reason="changed my mind")

    # --- what comes in between -----------------------------------------------------------------------------------

    def disturb(self, call: str, what: str, name: str, *, is_before: bool) -> None:
        """Let something happen once, right before or after the machine is next asked for `call`."""
        points = self.stage.ground.machine.points
        plant = points.before_call if is_before else points.after_call
        plant(call, lambda: self.meanwhile(what, name))

    def undisturb(self) -> None:
        """What did not come to happen is called off."""
        points = self.stage.ground.machine.points
        points.forget()

    def meanwhile(self, what: str, name: str) -> None:
        """Somebody else acts while the engine is at work; what is refused to them is none of our concern."""
        stage = self.stage
        try:
            if what == "hold":
                stage.hold(name)
            elif what == "lease":
                stage.lease(name, timedelta(days=2))
            elif what == "open" and self.is_there(name):
                stage.open(name)
            elif what == "write" and self.is_there(name):
                stage.write(name)
            elif what == "occupy" and not stage.ground.machine.disk.exists(b"/data/" + name.encode()):
                stage.occupy(name)
            elif what == "stolen":
                stage.ground.machine.locks.steal(stage.ground.root)
            elif what in ("restore", "overtaken"):
                if what == "overtaken":
                    stage.ground.machine.locks.free_all()
                self.put_everything_back()
        except ArtifactctlError:
            stage.refused += 1

    # --- what must hold ------------------------------------------------------------------------------------------

    def is_at_its_place(self, copy: Copy) -> bool:
        return self.stage.tree(copy.path) == copy.tree

    def is_there(self, name: str) -> bool:
        return any(copy.root == b"/data" and self.is_at_its_place(copy) for copy in self.stage.world.copies_of(name))

    def picture(self) -> list[object]:
        work = self.stage.ground
        journals = [[(r.operation, r.event) for r in work.machine.operations(root)] for root in self.roots]
        return [journals, [work.known(name).replicas for name in NAMES], self.stage.set_aside()]

    @property
    def roots(self) -> tuple[Root, ...]:
        return self.stage.ground.root, self.stage.other

    def catalog_agrees(self) -> None:
        """After a recovery every copy is where the catalog says."""
        for copy in self.stage.world.copies:
            replicas = self.stage.ground.known(copy.artifact).replicas
            state = next(r.state for r in replicas if r.root.path == copy.root)
            if state is ReplicaState.LIVE:
                assert self.is_at_its_place(copy), copy
            elif state is ReplicaState.QUARANTINED:
                assert copy.tree in self.stage.set_aside(), copy
            else:
                assert copy.purged, (copy, state)

    @invariant()
    def nothing_is_lost_that_was_to_stay(self) -> None:
        """Every copy is whole at its place or in a quarantine; where not, that was asked for and nothing forbade it."""
        History.steps_made += 1
        world = self.stage.world
        world.now = self.stage.ground.now()
        aside = self.stage.set_aside()
        for copy in world.copies:
            if copy.purged or self.is_at_its_place(copy):
                copy.aside_at = None
            elif copy.tree in aside:
                copy.aside_at = world.real if copy.aside_at is None else copy.aside_at
            else:
                copy.purged = True
                History.purges_seen += 1
                assert not world.why_it_must_stay(copy), f"{copy.artifact} is gone: {world.why_it_must_stay(copy)}"

    @invariant()
    def the_past_is_whole(self) -> None:
        """The audit chain proves itself."""
        assert self.stage.chain_is_whole()
