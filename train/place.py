"""A run's place: its checkpoints in the folder, and what the catalog knows of them and of the run."""

from collections.abc import Mapping
from pathlib import Path

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, Run, RunState
from artifactctl.domain.errors import Refused, UsageError
from extract.joining import require_same
from train.checkpoints import complete_checkpoints, read_state
from train.inputs import Inputs

STAGE = "training"


class RunPlace:
    """The folder of one training run. `identity` decides what comes out: another run is refused here."""

    def __init__(
        self,
        session: Session,
        folder: Path,
        name: str,
        inputs: Inputs,
        identity: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> None:
        self._session = session
        self._folder = folder
        self._name = name
        self._inputs = inputs
        self._identity = identity
        self._labels = labels
        self._run: Run | None = None
        self._resumed: Artifact | None = None

    def begin(self, *, resume: bool) -> Path | None:
        """Start or take up the run; return the checkpoint to go on from, None at the beginning.

        Refused when there are checkpoints and nobody said `resume`, or when they are those of another run. A complete
        checkpoint that a killed run could not register any more, or not measure, is registered and measured.
        """
        there = complete_checkpoints(self._folder)
        if there and not resume:
            raise Refused(f"{self._folder} has checkpoints already", remedy="give --resume, or another --out")
        for _, place in there:
            require_same(self._identity, read_state(place).identity, place=str(place))
        known = [self._known(place) for _, place in there]
        self._run = next((run for each in known if each and (run := self._session.run_in_progress(each))), None)
        if self._run is None:
            inputs = [self._inputs.states.name, self._inputs.map.name]
            self._run = self._session.start_run(STAGE, inputs=inputs)
        for before, (_, place) in enumerate(there):
            at = known[before]
            is_measured = at is not None and "step" in dict(at.metrics)  # a killed run registers and does not measure
            self._resumed = at if is_measured else self._registered(place, read_state(place).metrics)
        return there[-1][1] if there else None

    def register(self, place: Path, metrics: Mapping[str, float]) -> Artifact:
        """Catalog a checkpoint that has just got its name, with step, metrics and what it is made from."""
        self._resumed = self._registered(place, metrics)
        return self._resumed

    def finish(self, state: RunState = RunState.SUCCEEDED) -> None:
        """End the run; a run that is only stopped is not ended."""
        if self._run is not None:
            self._session.finish_run(self._run, state=state)

    def _registered(self, place: Path, metrics: Mapping[str, float]) -> Artifact:
        state = read_state(place)
        inputs = [
            f"{self._inputs.states.name}:{LineageRole.TRAINED_ON.value}",
            f"{self._inputs.map.name}:{LineageRole.MAPPED_WITH.value}",
        ]
        if self._resumed is not None:
            inputs.append(f"{self._resumed.name}:{LineageRole.RESUMED_FROM.value}")
        artifact = self._session.register(
            place,
            kind=ArtifactKind.CHECKPOINT,
            name=f"{self._name}-step-{state.step}",
            inputs=inputs,
            labels={**self._labels, "step": str(state.step)},
            run=self._run,
        )
        return self._session.measure(artifact, {"step": float(state.step), **metrics})

    def _known(self, place: Path) -> Artifact | None:
        try:
            return self._session.artifact(str(place.absolute()))
        except UsageError:
            return None
