"""A session: one catalog, this machine, one program."""

import os
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from artifactctl.api.leases import HeldLease
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    LineageRole,
    Replica,
    ReplicaState,
    Reservation,
    Run,
    RunState,
)
from artifactctl.domain.errors import UsageError

if TYPE_CHECKING:
    from artifactctl.api.admission import Admission
    from artifactctl.api.shares import DividedWork
    from artifactctl.catalog import Catalog
    from artifactctl.domain.shares import Share
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.acting import Acting
    from artifactctl.policy.ruleset import Policy

PathLike = bytes | str | os.PathLike[str]


def open_session(
    *,
    catalog: str | Path | None = None,
    clock: Callable[[], datetime] | None = None,
    actor: str = "",
    environment: Mapping[str, str] | None = None,
    working_directory: Path | None = None,
) -> "Session":
    """Open the catalog that a person on this machine would mean, or the one at `catalog` (a path or a database URL).

    `clock` is the machine's own unless given, and then alone says when a promise is over; `actor` is what the audit log
    calls the program, by default the account that runs it. What it may do is what that account may. UsageError when
    there is no catalog: making one is a person's decision.
    """
    from artifactctl.catalog import open_catalog
    from artifactctl.configuration.account import account_here, stand_in_machine_id
    from artifactctl.configuration.location import locate_catalog, state_folder
    from artifactctl.configuration.policy_in_force import policy_in_force
    from artifactctl.configuration.settings import read_settings
    from artifactctl.hosts.local import LocalHost
    from artifactctl.inventory.doorkeeping import Doorkeeper

    around = os.environ if environment is None else environment
    folder = working_directory or Path.cwd()
    settings = read_settings(working_directory=folder, environment=around)
    where = locate_catalog(None if catalog is None else str(catalog), around, settings)
    host = LocalHost(stand_in_machine_id=stand_in_machine_id(around))
    now = clock or host.now
    account = account_here(around, host=host.identify().hostname)
    opened = open_catalog(where.location, now=now(), doorkeeper=Doorkeeper(lambda: account))
    return Session(
        catalog=opened.measure_by(host.uptime) if clock is None else opened,
        host=host,
        clock=now,
        actor=actor or account.actor,
        working_directory=os.fsencode(folder),
        policy=lambda: policy_in_force(settings, around, working_directory=folder),
        state_folder=Path(state_folder(around)),
    )


class Session:
    """What a program may ask for; a context manager that closes the catalog. Get one from `open_session`.

    Artifacts are named as on the command line: by name, or by path.
    """

    def __init__(
        self,
        *,
        catalog: "Catalog",
        host: "Host",
        clock: Callable[[], datetime],
        actor: str,
        working_directory: bytes,
        policy: "Callable[[], Policy]",
        state_folder: Path,
    ) -> None:
        self._catalog = catalog
        self._host = host
        self._clock = clock
        self._actor = actor
        self._policy = policy
        self._state_folder = state_folder
        from artifactctl.inventory.places import Here

        self._here = Here(directory=working_directory, identify=host.identify)

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the catalog; what was changed is noted in the roots before."""
        from artifactctl.inventory.catalog_heads import note_heads

        try:
            if self._catalog.has_written:
                note_heads(self._catalog, self._host)
        finally:
            self._catalog.close()

    @property
    def now(self) -> datetime:
        """The present instant, by the session's clock."""
        return self._clock()

    def path(self, name: str) -> bytes:
        """Return where the living copy on this machine of an artifact is; UsageError when there is none."""
        replica = self._copy_here(self.artifact(name))
        return replica.root.path + b"/" + replica.relative

    def require_usable(self, name: str, kind: ArtifactKind) -> Artifact:
        """Return an artifact that may be built on: complete, not superseded, made of nothing that is, and verified.

        Refused or CheckFailed with what to do otherwise: also when it was changed since it was verified.
        """
        from artifactctl.api.inputs import require_usable

        artifact = self.artifact(name)
        require_usable(self._host, self._catalog, artifact, kind, self._copy_here(artifact))
        return artifact

    def measure(self, artifact: Artifact, metrics: Mapping[str, float]) -> Artifact:
        """Record measurements of an artifact, finite numbers by name, such as its step and losses."""
        from artifactctl.inventory.linking import record

        return record(self._catalog, artifact.name, metrics, here=self._here, acting=self._acting())

    def files(self, name: str) -> tuple[str, ...]:
        """Return the catalogued files of an artifact, relative to its path; what else lies there is no part of it.

        An artifact that is one file has one, "".
        """
        artifact = self.artifact(name)
        with self._catalog.reading() as reading:
            return tuple(os.fsdecode(path) for path, kind, _ in reading.members(artifact.artifact_id) if kind == "f")

    def require_place(self, path: PathLike) -> None:
        """Return when something new may be written and registered at `path`, which need not be there yet.

        UsageError below no managed root, Refused inside the folder of another artifact.
        """
        from artifactctl.inventory.registering import refuse_inside_another, target_for

        refuse_inside_another(self._catalog, target_for(self._host, self._catalog, self._absolute(path)))

    def artifact(self, name: str) -> Artifact:
        """Return what is known by a name or at a path; UsageError with the nearest names when nothing is."""
        from artifactctl.inventory.finding import find_artifact

        with self._catalog.reading() as reading:
            return find_artifact(reading, name, here=self._here)

    def parents(self, artifact: Artifact) -> tuple[tuple[Artifact, LineageRole], ...]:
        """Return what an artifact was made from or needs, each with its role."""
        with self._catalog.reading() as reading:
            found = [(reading.artifact_by_id(e.parent_id), e.role) for e in reading.parents(artifact.artifact_id)]
        return tuple((parent, role) for parent, role in found if parent is not None)

    def reserve(
        self, path: PathLike, *, reserved_bytes: int, purpose: str, until: datetime, files: int = 1
    ) -> Reservation:
        """Have bytes promised on the volume of `path` until then; later plans and reservations respect it.

        Refused, with what is missing, when they are not there or promised to others.
        """
        from artifactctl.inventory.reserving import Promise, reserve

        if reserved_bytes <= 0 or files < 0:
            raise UsageError(f"{reserved_bytes} bytes in {files} files cannot be reserved", remedy="ask for some bytes")
        self._require_future(until)
        place = self._absolute(path)
        promise = Promise(path=place, reserved_bytes=reserved_bytes, files=files, purpose=purpose, expires_at=until)
        return reserve(self._catalog, self._host, promise, self._host.usage(place), acting=self._acting())

    def fill(self, reservation: Reservation, *, filled_bytes: int) -> None:
        """Say how much of it is written by now, in all: that is used, no longer promised."""
        from artifactctl.inventory.reserving import fill_reservation

        if filled_bytes < 0:
            raise UsageError(f"{filled_bytes} bytes cannot have been written", remedy="count what is on disk")
        acting = self._acting()
        fill_reservation(self._catalog, reservation.reservation_id, filled_bytes=filled_bytes, acting=acting)

    def fill_more(self, reservation: Reservation, *, added_bytes: int) -> None:
        """Say how much more of it is written; several programs may fill one. One that is over is left alone."""
        from artifactctl.inventory.reserving import fill_more

        fill_more(self._catalog, reservation.reservation_id, added_bytes=added_bytes, acting=self._acting())

    def release(self, reservation: Reservation) -> None:
        """Give what is left of it back; UsageError when it has ended before."""
        from artifactctl.inventory.reserving import release_reservation

        release_reservation(self._catalog, reservation.reservation_id, acting=self._acting())

    def lease(self, names: Sequence[str], *, until: datetime, renew_every: timedelta | None = None) -> HeldLease:
        """Have the artifacts kept while this program uses them, at most until then; all of them or none.

        The leases begin here; `with` renews them in the background and gives them back at its end.
        """
        from artifactctl.inventory.finding import find_artifacts
        from artifactctl.inventory.leasing import RENEW_EVERY, take_leases
        from artifactctl.inventory.process_identity import this_process

        if not names:
            raise UsageError("no artifact was named", remedy="name what is used")
        self._require_future(until)
        with self._catalog.reading() as reading:
            artifacts = find_artifacts(reading, names, here=self._here)
        held = take_leases(
            self._catalog,
            artifacts,
            owner=secrets.token_hex(16),
            holder=this_process(self._host.identify()),
            command=shlex.join(sys.argv),
            acting=self._acting(),
            until=until,
        )
        every = renew_every or RENEW_EVERY
        return HeldLease(self._catalog, held, acting_now=self._acting, until=until, renew_every=every)

    def register(
        self,
        path: PathLike,
        *,
        kind: ArtifactKind,
        name: str = "",
        inputs: Sequence[str] = (),
        tokens: int | None = None,
        records: int | None = None,
        labels: Mapping[str, str] | None = None,
        run: Run | None = None,
        building: bool = False,
    ) -> Artifact:
        """Catalog what is at `path`; `inputs` are `NAME[:ROLE]`. With `building` it is about to be written: seal it.

        Refused when another artifact lives there, UsageError when the path lies below no managed root.
        """
        from artifactctl.inventory.building import announce
        from artifactctl.inventory.registering import Statement, register
        from artifactctl.inventory.running import add_output

        statement = Statement(
            kind=kind, name=name, inputs=tuple(inputs), tokens=tokens, records=records, labels=dict(labels or {})
        )
        record = announce if building else register
        place = self._absolute(path)
        now = self._clock()
        artifact = record(self._host, self._catalog, place, statement, now=now, actor=self._actor, here=self._here)
        if run is not None:
            add_output(self._catalog, run, artifact, acting=self._acting())
        return artifact

    def seal(self, artifact: Artifact, *, tokens: int | None = None, records: int | None = None) -> Artifact:
        """Say that an artifact registered as building is complete: it is measured, and its members are fixed."""
        from artifactctl.inventory.building import seal

        return seal(
            self._host,
            self._catalog,
            artifact,
            tokens=tokens,
            records=records,
            now=self._clock(),
            actor=self._actor,
        )

    def admission(self, path: PathLike) -> "Admission":
        """Return whom to ask whether an extraction to `path` may begin and go on."""
        from artifactctl.api.admission import Admission

        return Admission(
            self._catalog,
            self._host,
            self._absolute(path),
            here=self._here,
            policy=self._policy,
            clock=self._clock,
            actor=self._actor,
            plans_folder=self._state_folder / "plans",
        )

    def is_divided(self, artifact: Artifact) -> bool:
        """Whether somebody divided the making of the artifact."""
        with self._catalog.reading() as reading:
            return reading.division(artifact.artifact_id) is not None

    def divide(self, artifact: Artifact, *, fingerprint: Mapping[str, str], shares: int) -> "DividedWork":
        """Divide the making of an artifact into shares, or join those who did before, with their division."""
        from artifactctl.api.shares import DividedWork
        from artifactctl.inventory.dividing import Worker, divide

        division = divide(self._catalog, artifact, fingerprint=fingerprint, shares=shares, acting=self._acting())
        worker = Worker.of(os.getpid(), self._host.identify(), owner=secrets.token_hex(16))
        return DividedWork(self._catalog, artifact, division, worker, self._acting)

    def divided(self, artifact: Artifact) -> "DividedWork | None":
        """Return the shares that an artifact was made in; None when it was not made so."""
        with self._catalog.reading() as reading:
            division = reading.division(artifact.artifact_id)
        return (
            None
            if division is None
            else self.divide(artifact, fingerprint=division.fingerprint, shares=division.shares)
        )

    def reopen(self, artifact: Artifact, shares: "Sequence[Share]", *, why: str, run: Run | None = None) -> None:
        """Make some of a complete artifact again: its shares, as they were seen finished, may be claimed once more.

        Refused while somebody has leased it, or where it has another copy. `run` is what makes it from here on.
        """
        from artifactctl.inventory.reopening import reopen

        reopen(self._host, self._catalog, artifact, shares, why=why, run=run, acting=self._acting())

    def found_damaged(self, artifact: Artifact) -> datetime | None:
        """Return when `verify` last found something wrong with it; None when it has not, or found it whole since."""
        from artifactctl.inventory.reopening import last_failure

        return last_failure(self._catalog, artifact)

    def start_run(self, stage: str, *, inputs: Sequence[str] = (), command: str = "") -> Run:
        """Record that a stage (`respond`, `merge`, `vocab`, `extraction`, `training`) has begun."""
        from artifactctl.inventory.finding import find_artifacts
        from artifactctl.inventory.running import start_run

        with self._catalog.reading() as reading:
            artifacts = find_artifacts(reading, inputs, here=self._here)
        words = command or shlex.join(sys.argv)
        return start_run(self._catalog, stage, inputs=artifacts, command=words, acting=self._acting())

    def finish_run(
        self,
        run: Run,
        *,
        state: RunState = RunState.SUCCEEDED,
        duration: timedelta | None = None,
        cost_gpu_hours: float | None = None,
        cost_usd: float | None = None,
    ) -> Run:
        """Record how a run ended and what doing it again would cost; Refused when it had ended before.

        `duration` is how long it was worked on, where that is not the time since its start.
        """
        from artifactctl.inventory.running import finish_run

        if state is RunState.RUNNING:
            raise UsageError("a run that is over is not running", remedy="say whether it succeeded or failed")
        return finish_run(
            self._catalog,
            run,
            state=state,
            duration=duration,
            cost_gpu_hours=cost_gpu_hours,
            cost_usd=cost_usd,
            acting=self._acting(),
        )

    def run_in_progress(self, artifact: Artifact) -> Run | None:
        """Return the run that makes the artifact and has not ended, None when there is none."""
        with self._catalog.reading() as reading:
            known = reading.runs(artifact_id=artifact.artifact_id)
        making = [run for run in known if run.state is RunState.RUNNING and artifact.artifact_id in run.outputs]
        return making[-1] if making else None

    def _copy_here(self, artifact: Artifact) -> Replica:
        from artifactctl.inventory.targets import local_roots

        with self._catalog.reading() as reading:
            ours = {root.root_id for root in local_roots(self._host, reading)}
        for replica in artifact.replicas:
            if replica.root.root_id in ours and replica.state is ReplicaState.LIVE:
                return replica
        raise UsageError(
            f"{artifact.name} has no living copy on this machine", remedy=f"artifactctl show {artifact.name}"
        )

    def _acting(self) -> "Acting":
        from artifactctl.inventory.acting import Acting

        return Acting(actor=self._actor, host=self._host.identify().hostname, now=self._clock())

    def _absolute(self, path: PathLike) -> bytes:
        return os.path.normpath(os.path.join(self._here.directory, os.fsencode(path)))

    def _require_future(self, until: datetime) -> None:
        if until.utcoffset() is None:
            raise UsageError(f"{until} has no time zone", remedy="give an aware instant")
        if until <= self._clock():
            raise UsageError(f"{until.isoformat()} has passed", remedy="give an instant to come")
