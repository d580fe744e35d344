"""What a job may do through the api, on real files and a real catalog."""

import doctest
import os
import pwd
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import artifactctl.api
from artifactctl.api import Session, open_session
from artifactctl.api.publishing import publish
from artifactctl.catalog import PathTaken, RoleMissing, StateChanged, open_catalog
from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, RunState
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.roles import Act
from artifactctl.inventory.scanning import scan
from tests.artifacts.hidden_states import safetensors_shards
from tests.bench.clocks import FixedClock
from tests.bench.sandbox import CHECKOUT

MIB = 2**20
HOUR = timedelta(hours=1)


@dataclass
class Job:
    """A machine with a root, a corpus in it, and the environment of a program that works there."""

    folder: Path
    clock: FixedClock = field(default_factory=FixedClock)

    def __post_init__(self) -> None:
        self.root = self.folder / "scratch"
        (self.root / "corpus").mkdir(parents=True)
        (self.root / "corpus" / "part-0.jsonl").write_text('{"text": "one"}\n')
        self.environment = {"HOME": str(self.folder), "ARTIFACTCTL_CATALOG": str(self.folder / "catalog.db")}
        self.command("init")
        self.command("root", "add", str(self.root))
        self.command("register", str(self.root / "corpus"), "--kind", "merged_corpus", "--name", "corpus")

    def command(self, *words: str) -> str:
        surroundings = Surroundings(clock=self.clock, environment=self.environment, working_directory=self.folder)
        done = CliRunner().invoke(program, list(words), obj=surroundings)
        assert done.exit_code == 0, done.output
        return done.stdout

    def open(self) -> Session:
        return open_session(
            environment=self.environment, working_directory=self.root, clock=self.clock.now, actor="job@here"
        )

    @property
    def deadline(self) -> datetime:
        return self.clock.now() + HOUR


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(folder=tmp_path)


@pytest.fixture
def session(job: Job) -> Iterator[Session]:
    with job.open() as opened:
        yield opened


def free_bytes(job: Job) -> int:
    usage = os.statvfs(job.root)
    return usage.f_bavail * usage.f_frsize


def kept(job: Job) -> tuple[str, ...]:
    """Return the names that are leased now."""
    catalog = open_catalog(job.folder / "catalog.db", now=job.clock.now())
    try:
        with catalog.reading() as reading:
            return tuple(lease.artifact_name for lease in reading.leases(job.clock.now()))
    finally:
        catalog.close()


def hidden_states(session: Session, folder: Path, **facts: object) -> Artifact:
    folder.mkdir(exist_ok=True)
    return session.register(folder, kind=ArtifactKind.HIDDEN_STATES, building=True, **facts)  # type: ignore[arg-type]


def test_importing_the_api_loads_no_database_and_no_machine() -> None:
    code = "import artifactctl.api, sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())

    assert loaded & {"sqlalchemy", "alembic", "click", "rich", "psutil", "numpy", "zstandard"} == set()
    assert {name for name in loaded if name.startswith("artifactctl.")} <= {
        "artifactctl.api",
        "artifactctl.api.leases",
        "artifactctl.api.renewal",
        "artifactctl.api.session",
        "artifactctl.domain",
        "artifactctl.domain.artifacts",
        "artifactctl.domain.attestation",
        "artifactctl.domain.errors",
        "artifactctl.domain.text",
        "artifactctl.domain.uptime",
    }


def test_the_example_in_the_package_goes_as_it_says(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFACTCTL_CATALOG", job.environment["ARTIFACTCTL_CATALOG"])
    folder = job.root / "run-7"
    folder.mkdir()
    names = {
        "folder": folder,
        "deadline": datetime.now(UTC) + HOUR,
        "write_shard": lambda place, content: (place / content.decode()).write_bytes(content) and None,
    }
    (example,) = doctest.DocTestFinder(recurse=False).find(artifactctl.api, "api", extraglobs=names)

    result = doctest.DocTestRunner(verbose=False).run(example)

    assert result.attempted >= 4
    assert result.failed == 0


def test_a_session_means_the_catalog_that_the_command_line_means(job: Job) -> None:
    (job.root / "artifactctl.toml").write_text(f'[catalog]\nlocation = "{job.folder}/catalog.db"\n')

    with open_session(environment={"HOME": "/nowhere"}, working_directory=job.root / "corpus") as found:
        assert found.artifact("corpus").kind is ArtifactKind.MERGED_CORPUS
    with pytest.raises(UsageError, match="there is no catalog"):
        open_session(environment={"HOME": str(job.folder / "empty")}, working_directory=job.folder)


def test_a_reservation_is_respected_by_the_next_one_and_named_with_the_shortfall(job: Job, session: Session) -> None:
    most = free_bytes(job) // 4 * 3
    first = session.reserve(job.root, reserved_bytes=most, purpose="extraction", until=job.deadline)

    with pytest.raises(Refused, match=r"cannot be reserved: .* are left \(.*\), .* too little"):
        session.reserve(job.root, reserved_bytes=most, purpose="another", until=job.deadline)
    session.fill(first, filled_bytes=most - MIB)
    again = session.reserve(job.root, reserved_bytes=most, purpose="another", until=job.deadline)
    session.release(again)

    assert first.path == os.fsencode(job.root)
    assert '"purpose": "extraction"' in job.command("reservation", "ls", "--json")
    with pytest.raises(UsageError):
        session.release(again)


def test_a_reservation_ends_by_itself(job: Job, session: Session) -> None:
    most = free_bytes(job) // 4 * 3
    session.reserve(job.root, reserved_bytes=most, purpose="extraction", until=job.deadline)
    job.clock.advance(2 * HOUR)

    session.reserve(job.root, reserved_bytes=most, purpose="another", until=job.deadline)


@pytest.mark.parametrize(
    ("reserved", "until"),
    [(0, HOUR), (-1, HOUR), (MIB, -HOUR)],
    ids=["nothing", "less than nothing", "until the past"],
)
def test_a_reservation_that_makes_no_sense_is_refused(
    job: Job, session: Session, reserved: int, until: timedelta
) -> None:
    with pytest.raises(UsageError):
        session.reserve(job.root, reserved_bytes=reserved, purpose="x", until=job.clock.now() + until)


def test_a_lease_is_renewed_while_it_is_held_and_released_at_the_end(job: Job, session: Session) -> None:
    with session.lease(["corpus"], until=job.deadline, renew_every=timedelta(milliseconds=20)) as held:
        for _ in range(4):
            job.clock.advance(timedelta(minutes=10))
            time.sleep(0.3)
            held.check()
            assert kept(job) == ("corpus",)

    assert kept(job) == ()
    assert held.fence == held.leases[0].fence > 0


def test_a_lease_never_outlasts_its_limit(job: Job, session: Session) -> None:
    with session.lease(["corpus"], until=job.deadline, renew_every=timedelta(milliseconds=20)) as held:
        job.clock.advance(timedelta(minutes=10))
        time.sleep(0.2)
        job.clock.advance(timedelta(minutes=51))
        time.sleep(0.2)

        assert kept(job) == ()
        with pytest.raises(Refused, match="ended at its own limit"):
            held.check()


def test_a_later_lease_has_a_higher_fence(job: Job, session: Session) -> None:
    with session.lease(["corpus"], until=job.deadline) as first:
        pass
    with session.lease(["corpus"], until=job.deadline) as second:
        assert second.fence > first.fence


def test_a_lease_that_somebody_ended_is_noticed(job: Job, session: Session) -> None:
    with session.lease(["corpus"], until=job.deadline, renew_every=timedelta(milliseconds=20)) as held:
        catalog = open_catalog(job.folder / "catalog.db", now=job.clock.now())
        with catalog.writing("eve", job.clock.now()) as writing:
            writing.break_lease(held.leases[0].lease_id, reason="it seemed gone")
        catalog.close()
        time.sleep(0.5)

        with pytest.raises(Refused):
            held.check()

    assert [thread.name for thread in threading.enumerate() if thread.name == "artifactctl-lease"] == []


def test_a_lease_that_a_restored_catalog_does_not_know_is_lost_and_the_next_fence_is_higher(
    job: Job, session: Session
) -> None:
    job.command("catalog", "backup", str(job.folder / "backup.db"))
    # Renewed so late that no renewal falls into the restore, which refuses a catalog that is written to meanwhile.
    with session.lease(["corpus"], until=job.deadline, renew_every=timedelta(seconds=12)) as held:
        job.command("catalog", "restore", str(job.folder / "backup.db"), "--yes")
        with pytest.raises(Refused, match="there is no lease"):
            _until_it_fails(held.check)

    with session.lease(["corpus"], until=job.deadline) as again:
        assert again.fence > held.fence


def _until_it_fails(check: Callable[[], object]) -> None:
    for _ in range(60):
        check()
        time.sleep(1)


def test_a_lease_is_given_back_when_the_work_fails(job: Job, session: Session) -> None:
    with pytest.raises(ZeroDivisionError), session.lease(["corpus"], until=job.deadline):
        raise ZeroDivisionError

    assert kept(job) == ()


def test_an_unknown_name_leases_nothing(job: Job, session: Session) -> None:
    with pytest.raises(UsageError, match="corpse"):
        session.lease(["corpus", "corpse"], until=job.deadline)

    assert kept(job) == ()


def test_what_is_being_written_is_building_until_it_is_sealed(job: Job, session: Session) -> None:
    run = session.start_run("extraction", inputs=["corpus"], command="extract run")
    states = hidden_states(session, job.root / "run-7", name="hidden", inputs=["corpus"], run=run)
    (job.root / "run-7" / "shard-0.bin").write_bytes(b"x" * MIB)
    before = session.artifact("hidden").replicas[0].state

    sealed = session.seal(states, tokens=23_070_000, records=10)
    ended = session.finish_run(run, cost_gpu_hours=152.0, cost_usd=300.0)

    (copy,) = sealed.replicas
    assert (states.replicas[0].state, before, copy.state) == (
        ReplicaState.BUILDING,
        ReplicaState.BUILDING,
        ReplicaState.LIVE,
    )
    assert (copy.files, copy.apparent_bytes, sealed.tokens, sealed.records) == (1, MIB, 23_070_000, 10)
    assert (sealed.kind, sealed.sealed) == (ArtifactKind.HIDDEN_STATES, True)
    assert (ended.state, ended.cost_gpu_hours, ended.outputs) == (RunState.SUCCEEDED, 152.0, (sealed.artifact_id,))
    assert '"ok": true' in job.command("audit", "verify", "--json")
    parents = job.command("show", "hidden", "--json")
    assert LineageRole.EXTRACTED_FROM.value in parents


def test_a_scan_follows_what_is_being_written_and_never_calls_it_complete(job: Job, session: Session) -> None:
    states = hidden_states(session, job.root / "run-7", name="hidden")
    for rows in ((5,), (5, 7)):
        safetensors_shards(job.root / "run-7", rows=rows)
        job.clock.advance(HOUR)
        scan(session._host, session._catalog, (), now=job.clock.now(), actor="scan")
        (copy,) = session.artifact("hidden").replicas
        assert (copy.state, copy.files) == (ReplicaState.BUILDING, len(rows))

    sealed = session.seal(states, tokens=12)
    report = scan(session._host, session._catalog, (), now=job.clock.now(), actor="scan")

    assert (sealed.replicas[0].state, sealed.replicas[0].files, sealed.tokens) == (ReplicaState.LIVE, 2, 12)
    assert (report.drift, report.strays, report.registered) == ((), (), ())


def test_growth_of_a_layout_that_nobody_recognises_is_no_drift(job: Job, session: Session) -> None:
    hidden_states(session, job.root / "run-7", name="hidden")
    (job.root / "run-7" / "shard-0.unknown").write_bytes(b"x" * MIB)

    report = scan(session._host, session._catalog, (), now=job.clock.now(), actor="scan")

    assert (report.drift, report.grown) == ((), ())
    assert session.artifact("hidden").replicas[0].state is ReplicaState.BUILDING


def test_what_a_dead_writer_left_can_be_accepted_as_it_is(job: Job, session: Session) -> None:
    hidden_states(session, job.root / "run-7", name="hidden")
    (job.root / "run-7" / "shard-0.bin").write_bytes(b"x" * MIB)

    scan(session._host, session._catalog, (), now=job.clock.now(), actor="scan", accept=("hidden",))

    assert session.artifact("hidden").replicas[0].state is ReplicaState.LIVE


def test_neither_what_is_written_nor_what_it_is_made_from_may_go_meanwhile(job: Job, session: Session) -> None:
    hidden_states(session, job.root / "run-7", name="hidden", inputs=["corpus"])

    surroundings = Surroundings(clock=job.clock, environment=job.environment, working_directory=job.folder)
    refused = CliRunner().invoke(program, ["reclaim", "corpus", "--dry-run"], obj=surroundings)

    assert refused.exit_code == 4
    assert "hidden is still being built from it" in refused.stdout


def test_a_complete_artifact_is_registered_at_once_and_sealed_only_once(job: Job, session: Session) -> None:
    (job.root / "map").mkdir()
    (job.root / "map" / "t2d.bin").write_bytes(b"x")

    made = session.register(job.root / "map", kind=ArtifactKind.VOCAB_MAP, name="map", labels={"size": "32k"})

    assert made.replicas[0].state is ReplicaState.LIVE
    assert dict(made.labels) == {"size": "32k"}
    with pytest.raises(StateChanged, match="is not being written"):
        session.seal(made)


def test_two_writers_never_share_a_folder(job: Job, session: Session) -> None:
    hidden_states(session, job.root / "run-7", name="hidden")

    with pytest.raises(PathTaken):
        hidden_states(session, job.root / "run-7", name="another")


def test_a_run_ends_once(session: Session) -> None:
    run = session.start_run("merge")

    ended = session.finish_run(run, state=RunState.FAILED)

    assert ended.state is RunState.FAILED
    with pytest.raises(Refused):
        session.finish_run(run)


def test_a_program_may_what_its_account_may_whatever_it_calls_itself(job: Job) -> None:
    job.command("role", "grant", "purge", "somebody", "--yes")

    with job.open() as session, pytest.raises(RoleMissing) as refused:
        session._catalog.require(Act.PURGE, "somebody@here", job.clock.now())

    assert refused.value.who is not None
    assert refused.value.who.self_subject.name == pwd.getpwuid(os.getuid()).pw_name
    assert "role.refused" in job.command("audit", "ls")


def test_the_files_of_an_artifact_are_the_catalogued_ones_and_nothing_else(job: Job, session: Session) -> None:
    (job.root / "corpus" / "note.txt").write_text("added since")

    assert session.files("corpus") == ("part-0.jsonl",)
    assert session.path("corpus") == os.fsencode(job.root / "corpus")


def test_a_file_is_published_in_one_step_and_never_over_another(tmp_path: Path) -> None:
    aside, place = tmp_path / "x.partial", tmp_path / "x"
    aside.write_text("new")

    publish(aside, place)
    aside.write_text("newer")

    with pytest.raises(FileExistsError):
        publish(aside, place)
    assert (place.read_text(), aside.read_text()) == ("new", "newer")
    with pytest.raises(ValueError, match="beside"):
        publish(aside, tmp_path / "elsewhere" / "x")


def test_nothing_new_is_written_into_the_folder_of_another_artifact(job: Job) -> None:
    with job.open() as session:
        for inside in ("corpus/merged", "corpus/deep/below", "corpus/part-0.jsonl"):
            with pytest.raises(Refused) as refused:
                session.require_place(job.root / inside)
        session.require_place(job.root / "corpus-merged")
        with pytest.raises(Refused, match="lies inside corpus") as refused:
            session.require_place(job.root / "corpus" / "merged")

    assert refused.value.remedy == f"write it to a folder beside that, such as {job.root}/corpus-merged"
