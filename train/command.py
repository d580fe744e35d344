"""`artifactctl train run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extract.answering import Stage

if TYPE_CHECKING:
    from train.run import Trained

_PATH = click.Path(path_type=Path)
LOG = "training.jsonl"


@click.command("run", cls=Stage)
@click.option("--hidden-states", required=True, metavar="NAME", help="The hidden states to train on.")
@click.option("--vocab-map", required=True, metavar="NAME", help="The draft's vocabulary.")
@click.option("--target", type=_PATH, required=True, metavar="DIR|FILE.gguf", help="The model whose states they are.")
@click.option("--out", type=_PATH, required=True, metavar="DIR", help="The run's folder, below a managed root.")
@click.option("--config", type=_PATH, metavar="FILE.toml", help="Settings; what it does not say is the default.")
@click.option("--steps", type=click.IntRange(min=1), help="How many steps (default: the file's, else 1000).")
@click.option("--resume", is_flag=True, help="Go on from the latest complete checkpoint.")
@click.option("--name", default="", help="What to call the run; checkpoints are NAME-step-N (default: the folder's).")
def run_command(
    hidden_states: str,
    vocab_map: str,
    target: Path,
    out: Path,
    config: Path | None,
    steps: int | None,
    *,
    resume: bool,
    name: str,
) -> None:
    """Train an EAGLE-3 draft.

    Inputs that are stale, superseded, unverified or do not belong together are refused; what is used is leased, so that
    nothing removes it meanwhile. Steps and evaluations go to OUT/training.jsonl. Checkpoints are whole or not there,
    each is catalogued, and retention is left to policies. Under torchrun the processes share every step.

    SIGTERM writes a last checkpoint and exits 5; --resume goes on from there, or after a crash from the latest, with
    the losses of a run that was never interrupted.

    A settings file may say: steps, seed, records_a_step, longest_tokens, precision, learning_rate, warmup_share,
    weight_decay, beta1, beta2, clip_norm, unroll_steps, unroll_decay, held_out, evaluate_every, evaluation_records,
    checkpoint_every, kept_checkpoints, layers, intermediate_size, initial_head, device, workers.
    """
    from extract.answering import answer, session
    from extract.requirements import need
    from extract.stop_request import stop_request
    from extract.telling import Telling

    for library in ("torch", "numpy", "safetensors"):
        need(library, purpose="training a draft", extra="train")
    from train.processes import processes
    from train.run import Training, help_train, train_draft
    from train.settings import read_settings

    settings = read_settings(config, steps=steps)
    wanted = Training(
        hidden_states=hidden_states,
        vocab_map=vocab_map,
        target=target,
        out=out,
        settings=settings,
        resume=resume,
        name=name,
    )
    with processes(settings.device) as together, stop_request("stopping after the step in hand") as should_stop:
        if not together.is_first:
            help_train(together, should_stop)
            return
        with session() as opened:
            opened.require_place(out)
            out.mkdir(parents=True, exist_ok=True)
            telling = Telling(lambda: opened.now, out / LOG)
            try:
                trained = train_draft(opened, wanted, together, telling, should_stop=should_stop)
            finally:
                telling.clear()
    answer("train_run", _payload(trained, out), _lines(trained))


def _payload(trained: "Trained", out: Path) -> dict[str, Any]:
    from extract.answering import json_path

    return {
        "name": trained.checkpoint.name,
        **json_path(str(out.absolute())),
        "steps": trained.steps,
        "parameters": trained.parameters,
        "written": list(trained.written),
        "metrics": dict(trained.metrics),
        "labels": trained.labels,
        "notes": list(trained.notes),
        "planned_bytes": trained.planned_bytes,
        "checkpoint_bytes": trained.checkpoint_bytes,
    }


def _lines(trained: "Trained") -> list[str]:
    metrics = trained.metrics
    evaluated = (
        f", held out: loss {metrics['eval_loss']:.4f}, {metrics['eval_accepted']:.2f} tokens accepted"
        if "eval_loss" in metrics
        else ""
    )
    return [
        f"{trained.checkpoint.name}: {trained.steps:,} steps, loss {metrics['loss']:.4f}{evaluated}",
        trained.labels,
    ]
