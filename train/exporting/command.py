"""`artifactctl train export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.domain.errors import ExitCode, UsageError
from extract.answering import Stage

if TYPE_CHECKING:
    from train.exporting.stage import Exported

_PATH = click.Path(path_type=Path)


@click.command("export", cls=Stage)
@click.option("--checkpoint", metavar="NAME", help="The checkpoint of `train run`.")
@click.option("--out", type=_PATH, metavar="DIR", help="The folder to make, below a managed root.")
@click.option(
    "--target",
    type=_PATH,
    metavar="DIR|FILE.gguf",
    help="The model that it drafts for, where the checkpoint does not say.",
)
@click.option("--name", default="", help="What to call the draft (default: root/path).")
@click.option("--check", "checked", type=_PATH, metavar="DIR", help="Check a folder that is there instead.")
def export_command(
    checkpoint: str | None, out: Path | None, target: Path | None, name: str, checked: Path | None
) -> None:
    """Write a checkpoint's draft as SGLang serves it: config.json and model.safetensors, with its map.

    Names, shapes and types are checked against what the server reads: it ignores what it does not know, and serves what
    is missing as it was drawn. The layers that the draft reads are told in the ids of the target's family.

    With --check DIR it says what is wrong with a folder that is there; exits 3 when something is.
    """
    if checked is not None:
        if checkpoint is not None or out is not None:
            raise UsageError("--check writes nothing", remedy="leave --checkpoint and --out away")
        raise SystemExit(_check(checked))
    if checkpoint is None or out is None:
        missing = "--checkpoint" if checkpoint is None else "--out"
        raise UsageError(f"{missing} is missing", remedy="`artifactctl train export --help`")
    raise SystemExit(_export(checkpoint, out, target, name))


def _export(checkpoint: str, out: Path, target: Path | None, name: str) -> ExitCode:
    from extract.answering import answer, session
    from extract.requirements import need
    from train.exporting.stage import export_checkpoint, target_of, trained_checkpoint

    need("torch", purpose="exporting a draft")
    with session() as opened:
        trained = trained_checkpoint(opened, checkpoint)
        exported = export_checkpoint(opened, trained, out, target_of(trained, target), name=name)
    answer("train_export", _payload(exported, out), _lines(exported, out))
    return ExitCode.DONE


def _check(folder: Path) -> ExitCode:
    from extract.answering import answer, json_path
    from train.exporting.checking import check_served
    from train.exporting.served import stated_layer_ids

    content = check_served(folder)
    ids = stated_layer_ids(content)
    payload = {
        **json_path(str(folder.absolute())),
        "ok": True,
        "draft_vocab_size": content["draft_vocab_size"],
        "layer_ids": None if ids is None else list(ids),
    }
    answer("train_export_check", payload, [f"{folder}: a draft of {content['draft_vocab_size']:,} tokens, whole"])
    return ExitCode.DONE


def _payload(exported: "Exported", out: Path) -> dict[str, Any]:
    from extract.answering import json_path

    return {
        "name": exported.artifact.name,
        **json_path(str(out.absolute())),
        "draft_vocab_size": exported.draft_vocabulary,
        "layers": list(exported.layers),
        "layer_ids": None if exported.layer_ids is None else list(exported.layer_ids),
        "tensors": exported.tensors,
        "size_bytes": exported.size_bytes,
    }


def _lines(exported: "Exported", out: Path) -> list[str]:
    from artifactctl.api.wording import format_bytes

    ids = "the server's own choice" if exported.layer_ids is None else f"ids {_listed(exported.layer_ids)}"
    return [
        f"{exported.artifact.name}: {exported.tensors} tensors, {format_bytes(exported.size_bytes)}, a draft of "
        f"{exported.draft_vocabulary:,} tokens",
        f"  it reads the target's boundaries {_listed(exported.layers)} ({ids})",
        f"  serve it: --speculative-algorithm EAGLE3 --speculative-draft-model-path {out.absolute()}",
    ]


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))
