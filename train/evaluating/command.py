"""`artifactctl train eval`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.domain.errors import ExitCode
from extract.answering import Stage
from extract.merging.command import Tokens

if TYPE_CHECKING:
    from train.evaluating.measuring import Acceptance, Difference
    from train.evaluating.stage import Evaluated

MOST_DIFFERENCES = 10
_PATH = click.Path(path_type=Path)


@click.command("eval", cls=Stage)
@click.option("--draft", required=True, metavar="NAME|DIR", help="A checkpoint, a draft model, or a folder of one.")
@click.option("--target", type=_PATH, required=True, metavar="DIR|FILE.gguf", help="The model that it drafts for.")
@click.option(
    "--prompts", required=True, metavar="FILE|NAME", help="Held-out prompts, as `extract respond` takes them."
)
@click.option("--tokens", type=Tokens(), default=64, show_default=True, help="How long an answer becomes.")
@click.option("--chain", type=click.IntRange(1, 64), default=5, show_default=True, help="Tokens proposed in a round.")
@click.option(
    "--temperature", type=click.FloatRange(0, 10), default=0.0, help="Above 0: sampled answers are measured as well."
)
@click.option("--seed", type=click.IntRange(0, 2**32), default=0, show_default=True, help="Of the sampled answers.")
@click.option("--device", default="auto", help="cpu, cuda, cuda:1 (default: a GPU if there is one).")
@click.option("--dtype", default="auto", help="What the target computes in (default: float32 on a CPU).")
def eval_command(draft: str, target: Path, prompts: str, **options: Any) -> None:
    """Measure what a draft is worth on its target: speculative decoding beside the target's own.

    Answers are greedy, with one chain of proposals a round (no tree). The baselines are the untrained draft and the
    target's most frequent token. What was measured is recorded where the catalog knows the draft.

    Exits 3 when an answer with the draft is not, token for token, the target's own: it is told where, and by how much
    the target preferred its choice there.
    """
    from extract.answering import answer, progress, session
    from extract.requirements import need
    from train.evaluating.measuring import Settings
    from train.evaluating.stage import Asked, evaluate_draft

    need("transformers", purpose="evaluating a draft")
    settings = Settings(
        tokens=options["tokens"], chain=options["chain"], temperature=options["temperature"], seed=options["seed"]
    )
    asked = Asked(
        draft=draft,
        target=target.absolute(),
        prompts=prompts,
        settings=settings,
        device=options["device"],
        dtype=options["dtype"],
    )
    with session() as opened, progress("decoding", "tokens") as advance:
        evaluated = evaluate_draft(opened, asked, advance)
    answer("train_eval", _payload(evaluated, settings.chain), _lines(evaluated))
    raise SystemExit(int(ExitCode.DONE if evaluated.evaluation.lossless else ExitCode.CHECK_FAILED))


def _payload(evaluated: "Evaluated", chain: int) -> dict[str, Any]:
    from extract.answering import json_path

    found = evaluated.evaluation
    sampled = found.sampled
    return {
        "name": None if evaluated.artifact is None else evaluated.artifact.name,
        **json_path(str(evaluated.folder.absolute())),
        "acceptance_length": found.accepted.length,
        "acceptance_by_position": list(found.accepted.by_place),
        "baseline_acceptance_length": found.baseline_acceptance_length,
        "baselines": {"untrained": found.untrained.length, "most_frequent_token": found.unigram.length},
        "lossless": found.lossless,
        "differences": [_difference(each) for each in found.differences],
        "wall_clock_speedup": found.wall_clock_speedup,
        "pass_speedup": found.pass_speedup,
        "target_tokens_per_second": found.alone_tokens_per_second,
        "sampled_acceptance_length": None if sampled is None else sampled.length,
        "sampled_acceptance_by_position": None if sampled is None else list(sampled.by_place),
        "chain": chain,
        "prompts": found.prompts,
        "tokens": found.tokens,
        "computed_in": evaluated.computed_in,
    }


def _difference(each: "Difference") -> dict[str, Any]:
    return {"prompt": each.prompt, "token": each.place, "margin": each.margin}


def _lines(evaluated: "Evaluated") -> list[str]:
    from artifactctl.api.wording import counted

    found = evaluated.evaluation
    name = str(evaluated.folder) if evaluated.artifact is None else evaluated.artifact.name
    wall = "not measured" if found.wall_clock_speedup is None else f"{found.wall_clock_speedup:.2f} times as fast"
    lines = [
        f"{name}: {found.accepted.length:.2f} tokens a pass of the target, over {found.tokens:,} tokens of "
        f"{counted(found.prompts, 'answer')}",
        f"  accepted at each position: {_shares(found.accepted)}",
        f"  baselines: {found.untrained.length:.2f} untrained, {found.unigram.length:.2f} the most frequent token",
        f"  {found.pass_speedup:.2f} tokens a pass with those over the prompts; by the clock: {wall}",
    ]
    if found.sampled is not None:
        lines.append(f"  sampled: {found.sampled.length:.2f} tokens a pass; at each position: {_shares(found.sampled)}")
    return [*lines, *_lossless_lines(evaluated)]


def _lossless_lines(evaluated: "Evaluated") -> list[str]:
    differences = evaluated.evaluation.differences
    if not differences:
        return ["  lossless: every answer is, token for token, the target's own"]
    lines = [f"  NOT lossless: {len(differences)} answers differ from the target's own, in {evaluated.computed_in}"]
    for each in differences[:MOST_DIFFERENCES]:
        why = "the target had ended" if each.margin is None else f"the target preferred its own by {each.margin:.2g}"
        lines.append(f"    {each.prompt}, token {each.place}: {why}")
    return lines


def _shares(acceptance: "Acceptance") -> str:
    return " ".join("-" if share is None else f"{share:.0%}" for share in acceptance.by_place)
