"""Evaluating a draft as a stage: what is compared, from the words of a command to numbers in the catalog."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.errors import Refused, UsageError
from extract.meant import place_meant
from extract.merging.tokenization import CorpusTokenizer, read_tokenizer
from extract.running.hf_model import LoadedModel, load
from train.evaluating.drafts import draft_meant, load_draft, untrained_like
from train.evaluating.measuring import Evaluation, Measuring, Settings
from train.evaluating.prompts import EncodedPrompt, encoded_prompts
from train.evaluating.running_target import RunningTarget
from train.target import load_target, read_target_config

LONGEST_RUN = timedelta(days=1)
ACCEPTANCE_METRIC = "eval/acceptance_len"
"""What the policies that ship with artifactctl compare checkpoints by; more is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asked for. `device` and `dtype` are of the target; "auto" as for an extraction."""

    draft: str
    target: Path
    prompts: str
    settings: Settings
    device: str = "auto"
    dtype: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """`artifact` is the draft as the catalog knows it now, None where it does not; `computed_in` the target's type."""

    evaluation: Evaluation
    artifact: Artifact | None
    folder: Path
    computed_in: str


def evaluate_draft(session: Session, asked: Asked, progress: Callable[[int], None]) -> Evaluated:
    """Measure a draft, and record what was measured where the catalog knows the draft; UsageError, Refused."""
    meant = draft_meant(session, asked.draft)
    config = read_target_config(asked.target)
    wanted = asked.settings
    tokenizer = read_tokenizer(asked.target)
    room_tokens = config.longest_positions - wanted.tokens - 2 * wanted.chain
    prompts = encoded_prompts(place_meant(session, asked.prompts), tokenizer, room_tokens=room_tokens)
    _require_known_tokens(prompts, vocabulary=config.vocabulary)
    with ExitStack() as held:
        if meant.artifact is not None:
            held.enter_context(session.lease([meant.artifact.name], until=session.now + LONGEST_RUN))
        model = load_draft(meant, load_target(asked.target))
        loaded = load(asked.target, device=asked.device, dtype=asked.dtype)
        model.to(loaded.device)
        target = RunningTarget(loaded, layers=model.config.layers, stops=_stops(loaded, tokenizer))
        measuring = Measuring(target, model, untrained_like(model).to(loaded.device), wanted)
        evaluation = measuring.measure(prompts, progress)
        artifact = meant.artifact
        if artifact is not None:
            artifact = session.measure(artifact, metrics_of(evaluation))
    return Evaluated(evaluation=evaluation, artifact=artifact, folder=meant.folder, computed_in=loaded.computed_in)


def metrics_of(evaluation: Evaluation) -> dict[str, float]:
    """Return what the catalog keeps of an evaluation, by name."""
    found = {
        ACCEPTANCE_METRIC: evaluation.accepted.length,
        "eval/baseline_acceptance_len": evaluation.baseline_acceptance_length,
        "eval/lossless": float(evaluation.lossless),
        "eval/pass_speedup": evaluation.pass_speedup,
        "eval/wall_clock_speedup": evaluation.wall_clock_speedup,
        "eval/sampled_acceptance_len": None if evaluation.sampled is None else evaluation.sampled.length,
    }
    return {name: value for name, value in found.items() if value is not None}


def _require_known_tokens(prompts: Sequence[EncodedPrompt], *, vocabulary: int) -> None:
    for prompt in prompts:
        beyond = max(prompt.ids)
        if beyond >= vocabulary:
            raise Refused(
                f"{prompt.label} has token {beyond:,}, and the target only {vocabulary:,}",
                remedy="give the target with its own tokenizer",
            )


def _stops(loaded: LoadedModel, tokenizer: CorpusTokenizer) -> frozenset[int]:
    """Return the tokens that end an answer: those of the model's own settings, and the tokenizer's end of text."""
    stated: Any = getattr(loaded.whole.generation_config, "eos_token_id", None)
    stops = set(stated if isinstance(stated, list) else [] if stated is None else [stated])
    named = tokenizer.library.token_to_id(tokenizer.special.get("eos_token", ""))
    if named is not None:
        stops.add(named)
    beyond = [token for token in stops if token >= tokenizer.target_vocabulary]
    if beyond:
        raise UsageError(
            f"the model ends its answers with token {beyond[0]:,}, which its tokenizer does not have",
            remedy="give the target with its own tokenizer",
        )
    return frozenset(stops)
