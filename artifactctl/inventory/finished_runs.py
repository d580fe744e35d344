"""What finished runs teach a planner: the tokens they stored, the bytes that became of them, the time they took."""

from collections.abc import Iterator

from artifactctl.capacity.calibration import FinishedRun
from artifactctl.capacity.demand import training_key
from artifactctl.capacity.recipes import recipe_from_labels
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Run, RunState
from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import parse_parameters

_MADE_BY_TRAINING = (ArtifactKind.CHECKPOINT, ArtifactKind.DRAFT_MODEL)


def finished_runs(reading: Reading) -> tuple[FinishedRun, ...]:
    """Return one lesson for each output of a run that succeeded and whose tokens are known."""
    artifacts = {artifact.artifact_id: artifact for artifact in reading.artifacts()}
    return tuple(
        lesson for run in reading.runs() if run.state is RunState.SUCCEEDED for lesson in _lessons(run, artifacts)
    )


def _lessons(run: Run, artifacts: dict[int, Artifact]) -> Iterator[FinishedRun]:
    seconds = run.duration_seconds if run.duration_seconds and run.duration_seconds > 0 else None
    for key in run.outputs:
        output = artifacts.get(key)
        if output is None:
            continue
        if output.kind is ArtifactKind.HIDDEN_STATES and output.tokens:
            recipe = recipe_from_labels(dict(output.labels))
            # The largest copy ever seen: what is in quarantine or gone was stored all the same.
            stored_bytes = max((replica.allocated_bytes for replica in output.replicas), default=0)
            if stored_bytes:
                yield FinishedRun(
                    recipe=recipe.key if recipe else None,
                    tokens=output.tokens,
                    stored_bytes=stored_bytes,
                    seconds=seconds,
                )
        elif output.kind in _MADE_BY_TRAINING:
            tokens = sum(
                artifacts[key].tokens or 0 for key in run.inputs if key in artifacts and _is_fuel(artifacts[key])
            )
            recipe_key = _training_key(output)
            if tokens and seconds and recipe_key:
                yield FinishedRun(recipe=recipe_key, tokens=tokens, stored_bytes=0, seconds=seconds)


def _is_fuel(artifact: Artifact) -> bool:
    return artifact.kind is ArtifactKind.HIDDEN_STATES


def _training_key(output: Artifact) -> str | None:
    stated = dict(output.labels).get("draft_params")
    if stated is None:
        return None
    try:
        return training_key(parse_parameters(stated))
    except UsageError:
        return None  # a label in somebody's own words teaches nothing
