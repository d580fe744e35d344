"""A training run from its inputs to its last checkpoint, as the catalog sees it.

1. The inputs are resolved and held against each other (`inputs`), leased, and the run begun or taken up (`place`).
2. The planner is asked for the checkpoints; what does not fit is refused (`room`).
3. Steps are made (`loop`, by `work`, in every process). Each checkpoint waits for room, is written whole, registered.
Killed anywhere, nothing is lost but the steps since the last checkpoint: they are made again, the same.
Only the first process knows the catalog; the others are told paths and numbers.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from artifactctl.api import HeldLease, Session
from artifactctl.api.admission import TrainingRequest
from artifactctl.api.wording import counted, format_bytes
from artifactctl.domain.artifacts import Artifact, RunState
from artifactctl.domain.errors import ArtifactctlError, ExitCode
from extract.telling import Telling
from train.checkpoints import TrainingState, complete_checkpoints, read_state, write_checkpoint
from train.fitting import TARGET_ARCHITECTURE, TARGET_BLOCKS
from train.inputs import Inputs, resolve
from train.loop import Hooks, Metrics
from train.place import RunPlace
from train.processes import Processes
from train.progress import Progress
from train.room import CheckpointRoom
from train.settings import TrainingSettings
from train.work import Given, Work

LONGEST_RUN = timedelta(days=60)
LOOK_AT_LEASE_SECONDS = 5.0
CHECKPOINT_BYTES_A_PARAMETER = 14
_OPERATIONAL = (
    "workers",
    "device",
    "kept_checkpoints",
    "checkpoint_every",
    "evaluate_every",
    "evaluation_records",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What was wanted. `longest` is how long the inputs are leased at most: no checkpoint is written after that."""

    hidden_states: str
    vocab_map: str
    target: Path
    out: Path
    settings: TrainingSettings
    resume: bool = False
    name: str = ""
    longest: timedelta = LONGEST_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What there is at the end: `checkpoint` is the last one, `written` those of this run alone, `labels` what for."""

    checkpoint: Artifact
    steps: int
    parameters: int
    written: tuple[str, ...]
    metrics: Mapping[str, float]
    labels: str
    notes: tuple[str, ...]
    planned_bytes: int
    checkpoint_bytes: int


class TrainingStopped(ArtifactctlError):
    """Somebody asked the run to stop; a checkpoint was written, and --resume goes on from it."""

    exit_code = ExitCode.PARTLY_DONE


def train_draft(
    session: Session, wanted: Training, together: Processes, telling: Telling, *, should_stop: Callable[[], bool]
) -> Trained:
    """Train a draft, in the first process; the others `help_train`. Refused before the first step for bad inputs."""
    inputs = resolve(session, wanted.hidden_states, wanted.vocab_map, wanted.target, wanted.settings)
    with session.lease(inputs.leased, until=session.now + wanted.longest) as lease:
        return _First(session, wanted, inputs, lease, together, telling, should_stop).run()


def help_train(together: Processes, should_stop: Callable[[], bool]) -> None:
    """Train beside the first process."""
    (text,) = together.told([""])

    def nothing(_step: int, _metrics: Mapping[str, float]) -> None: ...

    Work(Given.of_text(text), together).run(
        Hooks(stepped=nothing, evaluated=nothing, checkpoint=nothing, should_stop=should_stop)
    )


class _First:
    """The process that writes and talks to the catalog."""

    def __init__(
        self,
        session: Session,
        wanted: Training,
        inputs: Inputs,
        lease: HeldLease,
        together: Processes,
        telling: Telling,
        should_stop: Callable[[], bool],
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._settings = wanted.settings
        self._inputs = inputs
        self._lease = lease
        self._together = together
        self._telling = telling
        self._should_stop = should_stop
        self._name = wanted.name or wanted.out.name
        self._room = CheckpointRoom(session, wanted.out, self._name, telling)
        self._written: list[Artifact] = []
        self._looked_at = time.monotonic()
        self._checkpoint_bytes = 0

    def run(self) -> Trained:
        """Train to the end, or to where somebody stops it."""
        width = {"intermediate_size": size} if (size := self._settings.intermediate_size) else {}
        shape = self._inputs.config.draft(
            layers=self._inputs.layers, draft_vocabulary=len(self._inputs.draft_map.used), **width
        )
        self._parameters = shape.parameters
        self._identity = identity_of(self._inputs, self._settings)
        labels = {
            "draft_params": str(shape.parameters),
            "map_content": self._inputs.draft_map.content_digest,
            TARGET_BLOCKS: str(self._inputs.config.blocks),
        }
        if self._inputs.config.architecture:
            labels[TARGET_ARCHITECTURE] = self._inputs.config.architecture
        self._place = RunPlace(self._session, self._wanted.out, self._name, self._inputs, self._identity, labels)
        resume_from = self._place.begin(resume=self._wanted.resume)
        try:
            return self._trained(resume_from)
        except ArtifactctlError as error:
            if not isinstance(error, TrainingStopped):
                self._place.finish(RunState.FAILED)
            raise
        finally:
            self._room.release()

    def _trained(self, resume_from: Path | None) -> Trained:
        first_step = read_state(resume_from).step if resume_from else 0
        given = self._given(resume_from, first_step)
        work = Work(given, self._together)
        self._say_what_is_read(work)
        self._request = self._what_to_plan(work, first_step)
        plan = self._room.admit(self._request)
        self._together.told([given.as_text()])
        self._work = work
        self._progress = Progress(self._telling, self._wanted.out, self._settings.steps, first_step, work)
        hooks = Hooks(
            stepped=self._stepped, evaluated=self._evaluated, checkpoint=self._write, should_stop=self._should_stop
        )
        steps = work.run(hooks) if first_step < self._settings.steps else first_step
        last = self._last()
        if steps < self._settings.steps:
            raise TrainingStopped(
                f"stopped after {steps:,} of {self._settings.steps:,} steps; {last.name} is complete",
                remedy="the same command with --resume goes on from there",
            )
        self._place.finish()
        return Trained(
            checkpoint=last,
            steps=steps,
            parameters=self._parameters,
            written=tuple(each.name for each in self._written),
            metrics=dict(last.metrics),
            labels=work.unroll.teacher.says,
            notes=self._inputs.notes,
            planned_bytes=plan.demand_bytes,
            checkpoint_bytes=self._checkpoint_bytes,
        )

    def _given(self, resume_from: Path | None, first_step: int) -> Given:
        return Given(
            states_folder=str(self._inputs.states_folder),
            states_files=self._inputs.states_files,
            map_folder=str(self._inputs.map_folder),
            target=str(self._inputs.target.absolute()),
            layers=self._inputs.layers,
            resume_from=str(resume_from.absolute()) if resume_from else "",
            first_step=first_step,
            settings=self._settings,
        )

    def _say_what_is_read(self, work: Work) -> None:
        split, lengths = work.split, work.outline.tokens
        cut = sum(length > self._settings.longest_tokens for length in lengths)
        self._telling.say(
            "reading",
            f"{self._inputs.states.name}: {counted(len(split.training), 'record')} to train on, "
            f"{len(split.held_out):,} held out" + (f", {cut:,} cut to their first tokens" if cut else ""),
            training=len(split.training),
            held_out=len(split.held_out),
            cut=cut,
        )
        self._telling.say("labels", work.unroll.teacher.says)
        for note in self._inputs.notes:
            self._telling.say("note", f"note: {note}")
        if not split.held_out:
            self._telling.say("note", "note: no record is held out, nothing will be evaluated")

    def _what_to_plan(self, work: Work, first_step: int) -> TrainingRequest:
        longest, records = self._settings.longest_tokens, work.split.training
        tokens = sum(min(work.outline.tokens[at], longest) for at in records)
        steps = self._settings.steps - first_step
        still = -(-steps // self._settings.checkpoint_every)
        return TrainingRequest(
            draft_parameters=self._parameters,
            keep=max(1, min(self._settings.kept_checkpoints, still)),
            tokens=max(1, tokens * steps * self._settings.records_a_step // len(records)),
        )

    def _stepped(self, step: int, metrics: Metrics) -> None:
        self._telling.note("step", step=step, **metrics)
        self._progress.show(step, metrics)
        if time.monotonic() - self._looked_at >= LOOK_AT_LEASE_SECONDS:
            self._lease.check()
            self._looked_at = time.monotonic()

    def _evaluated(self, step: int, metrics: Metrics) -> None:
        self._telling.note("evaluation", step=step, **metrics)

    def _write(self, step: int, metrics: Mapping[str, float]) -> None:
        self._lease.check()
        self._room.before_checkpoint(self._parameters * CHECKPOINT_BYTES_A_PARAMETER, self._request, self._should_stop)
        state = TrainingState(
            step=step,
            records_drawn=step * self._settings.records_a_step,
            identity=self._identity,
            settings=self._settings.as_json(),
            metrics=metrics,
        )
        place, size_bytes = write_checkpoint(self._wanted.out, self._work.unroll.draft, self._work.optimizer, state)
        self._checkpoint_bytes = size_bytes
        artifact = self._place.register(place, metrics)
        self._room.written(size_bytes)
        self._written.append(artifact)
        self._telling.say(
            "checkpoint", f"{artifact.name}: {format_bytes(size_bytes)}", step=step, bytes=size_bytes, **metrics
        )

    def _last(self) -> Artifact:
        _, place = complete_checkpoints(self._wanted.out)[-1]
        return self._session.artifact(str(place.absolute()))


def identity_of(inputs: Inputs, settings: TrainingSettings) -> dict[str, str]:
    """Return all that decides what a run gives, by name."""
    decisive = {name: str(value) for name, value in settings.as_json().items() if name not in _OPERATIONAL}
    return {
        **decisive,
        "layers": ",".join(map(str, inputs.layers)),
        "hidden_states": inputs.states_digest,
        "vocabulary_map": inputs.draft_map.content_digest,
        "target": inputs.target_revision,
    }
