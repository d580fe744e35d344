"""`artifactctl extract run`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.domain.errors import ExitCode
from extract.answering import Stage
from extract.running.engines import ENGINES
from extract.shards.command import SMALLEST_SHARD, Size

if TYPE_CHECKING:
    from extract.running.outcomes import Extracted

MOST_REJECTED = 20
_PATH = click.Path(path_type=Path)


class Layers(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only in the oldest click
    """Layers such as 2,30,58."""

    name = "layers"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the layers; UsageError for text that is no list of them."""
        from artifactctl.domain.quantities import parse_layers

        return value if isinstance(value, tuple) else parse_layers(str(value))


@click.command("run", cls=Stage)
@click.option("--corpus", required=True, metavar="NAME", help="The merged corpus.")
@click.option("--model", type=_PATH, required=True, metavar="DIR|FILE.gguf", help="The target model.")
@click.option("--engine", type=click.Choice(list(ENGINES)), required=True, help="What computes the states.")
@click.option("--out", type=_PATH, required=True, metavar="DIR", help="The folder to make, below a managed root.")
@click.option(
    "--layers", type=Layers(), help="Boundaries such as 2,30,58; 0 the embeddings (default: the usual three)."
)
@click.option(
    "--final-state",
    type=click.Choice(["none", "pre", "post"]),
    default="none",
    show_default=True,
    help="Keep the last state too, before or after the final norm.",
)
@click.option("--codec", type=click.Choice(["none", "planes"]), default="none", show_default=True, help="Lossless.")
@click.option(
    "--shard-size", type=SMALLEST_SHARD, default="4GiB", help="How large shards become, uncoded (default: 4GiB)."
)
@click.option("--name", default="", help="What to call the states (default: root/path).")
@click.option(
    "--server", "servers", multiple=True, metavar="URL", help="For engines that are servers; may be repeated."
)
@click.option("--via", type=click.Choice(["hook", "http"]), default="hook", help="How a server hands states over.")
@click.option("--key-file", type=_PATH, metavar="FILE", help="A file with the servers' key.")
@click.option("--key-env", metavar="NAME", help="The name of a variable with the servers' key.")
@click.option("--device", default="auto", help="For hf: cpu, cuda, cuda:1 (default: a GPU if there is one).")
@click.option(
    "--dtype", default="auto", help="For hf: what it computes in (default: float32 on a CPU, else the model's)."
)
@click.option("--batch-tokens", type=click.IntRange(min=0), default=0, help="For hf: tokens of a batch, with padding.")
@click.option("--pause-below", type=Size(), help="Wait when less than this would be free (default: the reserve).")
@click.option("--stop-below", type=Size(), help="Stop when less than this is free (default: half the reserve).")
@click.option("--log", type=_PATH, metavar="FILE", help="Append what happens as JSON lines.")
def run_command(corpus: str, model: Path, engine: str, out: Path, **options: Any) -> None:
    """Extract the hidden states of a corpus.

    The planner is asked first, with what the first 32 records cost; what does not fit is refused. Run again after
    anything, the same command goes on, makes shards that were lost since again, and tries records that were rejected
    once more; run on several machines at once, they share the work. Records are known by their tokens: a run of another
    corpus, model, layers or codec is refused at the same place.

    Exits 5 when it was stopped, or when records are missing; they are listed.
    """
    from artifactctl.api.formats import Codec, FinalState
    from extract.answering import answer, session
    from extract.credentials import chosen_key
    from extract.requirements import need
    from extract.running.engine import EngineRequest
    from extract.running.engines import open_engine
    from extract.running.outcomes import Extraction
    from extract.running.place import source_of
    from extract.running.run import extract_states
    from extract.stop_request import stop_request
    from extract.telling import Telling

    need("numpy", purpose="extracting hidden states")
    wanted = Extraction(
        corpus=corpus,
        out=out,
        codec=Codec(options["codec"]),
        shard_bytes=options["shard_size"],
        name=options["name"],
        pause_below_bytes=options["pause_below"],
        stop_below_bytes=options["stop_below"],
    )
    request = EngineRequest(
        model=model.absolute(),
        layers=options["layers"],
        final_state=FinalState(options["final_state"]),
        servers=options["servers"],
        via=options["via"],
        key=chosen_key(file=options["key_file"], variable=options["key_env"], environment=os.environ),
        device=options["device"],
        dtype=options["dtype"],
        batch_tokens=options["batch_tokens"],
    )
    with session() as opened, stop_request("stopping after the record in hand") as should_stop:
        source_of(opened, corpus)  # a wrong name is told before a model is loaded
        opened.require_place(out)
        telling = Telling(lambda: opened.now, options["log"])
        telling.say("loading", f"opening the engine {engine}: {model}")
        running = open_engine(engine, request)
        try:
            extracted = extract_states(opened, wanted, running, telling, should_stop=should_stop)
        finally:
            running.close()
            telling.clear()
    answer("extract_run", _payload(extracted, out), _lines(extracted))
    raise SystemExit(int(ExitCode.PARTLY_DONE if extracted.rejected else ExitCode.DONE))


def _payload(extracted: "Extracted", out: Path) -> dict[str, Any]:
    from extract.answering import json_path

    return {
        "name": extracted.artifact.name,
        **json_path(str(out.absolute())),
        "records": extracted.records,
        "tokens": extracted.tokens,
        "bytes": extracted.bytes_on_disk,
        "planned_bytes": extracted.planned_bytes,
        "shards": extracted.shards,
        "rejected": [{"index": index, "reason": extracted.rejected[index]} for index in sorted(extracted.rejected)],
        "tokens_per_second": extracted.tokens_per_second,
    }


def _lines(extracted: "Extracted") -> list[str]:
    from artifactctl.api.wording import counted, format_bytes

    rate = extracted.tokens_per_second
    speed = "it was complete before" if rate is None else f"{rate:,.0f} tokens/s"
    lines = [
        f"{extracted.artifact.name}: {counted(extracted.records, 'record')} of {extracted.tokens:,} tokens, "
        f"{format_bytes(extracted.bytes_on_disk)} in {counted(extracted.shards, 'shard')}, {speed}"
    ]
    numbers = sorted(extracted.rejected)
    lines += [f"  missing: record {number}: {extracted.rejected[number]}" for number in numbers[:MOST_REJECTED]]
    more = len(numbers) - MOST_REJECTED
    return [*lines, f"  and {more:,} records more; --json lists all"] if more > 0 else lines
