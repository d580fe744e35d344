"""`artifactctl extract merge`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from artifactctl.domain.errors import ExitCode, UsageError
from extract.answering import Stage

if TYPE_CHECKING:
    from extract.merging.preparing import Limits

_PATH = click.Path(path_type=Path)


class Tokens(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only in the oldest click
    """A number of tokens, such as 4096 or 87.8M."""

    name = "tokens"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; UsageError for text that is none."""
        from artifactctl.domain.quantities import parse_tokens

        return value if isinstance(value, int) else parse_tokens(str(value))


@click.command("merge", cls=Stage)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--out", type=_PATH, metavar="DIR", help="The folder to make, below a managed root.")
@click.option(
    "--tokenizer", type=_PATH, metavar="DIR|FILE.gguf", help="A model's folder (tokenizer.json) or GGUF file."
)
@click.option("--chat-template", type=_PATH, metavar="FILE", help="A Jinja template instead of the tokenizer's own.")
@click.option("--max-tokens", type=Tokens(), help="Cut longer records to this length.")
@click.option("--min-tokens", type=Tokens(), default=1, show_default=True, help="Leave shorter records out.")
@click.option(
    "--seed", type=click.IntRange(-(2**63), 2**63 - 1), default=0, show_default=True, help="Decides the order."
)
@click.option("--name", default="", help="What to call the corpus (default: root/path).")
@click.option("--check", "corpus", metavar="CORPUS", help="Compare a merge that is there with the sources instead.")
def merge_command(
    sources: tuple[str, ...],
    out: Path | None,
    tokenizer: Path | None,
    chat_template: Path | None,
    max_tokens: int | None,
    min_tokens: int,
    seed: int,
    name: str,
    corpus: str | None,
) -> None:
    """Merge response sets into one corpus, or check a merge.

    A SOURCE is a .jsonl, .jsonl.zst, .jsonl.gz or .parquet file, a folder of them, or a catalogued name. Its records
    are ShareGPT `conversations`, OpenAI `messages`, or `input_ids` with `loss_mask`. Exits 5 when records could not be
    read.

    With --check CORPUS it says which records of the sources are in that corpus, missing, doubled, cut or altered; exits
    3 when not all are in once.
    """
    from extract.merging.preparing import Limits

    limits = Limits(max_tokens=max_tokens, min_tokens=min_tokens)
    if corpus is not None:
        if out is not None:
            raise UsageError("--check writes nothing", remedy="leave --out away")
        raise SystemExit(_check(corpus, sources, tokenizer, chat_template))
    if out is None or tokenizer is None:
        missing = "--out" if out is None else "--tokenizer"
        raise UsageError(f"{missing} is missing", remedy="`artifactctl extract merge --help`")
    raise SystemExit(_merge(sources, out, tokenizer, chat_template, limits=limits, seed=seed, name=name))


def _merge(
    words: tuple[str, ...],
    out: Path,
    tokenizer: Path,
    template: Path | None,
    *,
    limits: "Limits",
    seed: int,
    name: str,
) -> ExitCode:
    from extract.answering import answer, progress, session, warn
    from extract.merging.manifest import Recipe
    from extract.merging.reporting import merge_lines, merge_payload, unreadable_lines
    from extract.merging.stage import sources_meant, with_leases_merged
    from extract.merging.tokenization import read_tokenizer

    with session() as opened:
        opened.require_place(out)
        sources = sources_meant(opened, words)
        recipe = Recipe(tokenizer=read_tokenizer(tokenizer, template_file=template), limits=limits, seed=seed)
        with progress("merging", "records") as advance:
            merged, artifact = with_leases_merged(opened, sources, out, recipe, name=name, progress=advance)
    for line in unreadable_lines(merged):
        warn(line)
    answer("extract_merge", merge_payload(merged, artifact), merge_lines(merged, artifact))
    return ExitCode.PARTLY_DONE if merged.unreadable_records else ExitCode.DONE


def _check(corpus: str, words: tuple[str, ...], tokenizer: Path | None, template: Path | None) -> ExitCode:
    from extract.answering import answer, progress, session
    from extract.meant import place_meant
    from extract.merging.checking import check_merge
    from extract.merging.reporting import check_lines, check_payload
    from extract.merging.stage import sources_meant

    with session() as opened:
        place, sources = place_meant(opened, corpus), sources_meant(opened, words)
    with progress("comparing", "records") as advance:
        found = check_merge(place, sources, tokenizer=tokenizer, template=template, progress=advance)
    answer("extract_merge_check", check_payload(found), check_lines(found))
    return ExitCode.DONE if found.is_whole else ExitCode.CHECK_FAILED
