"""`artifactctl extract vocab`."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.domain.errors import ExitCode, UsageError
from extract.answering import Stage

if TYPE_CHECKING:
    from extract.vocabulary.stage import Coverage

MOST_LOST = 10
_PATH = click.Path(path_type=Path)


class Percent(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only in the oldest click
    """A share such as 98.3%."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Return the share, 0 to 1; UsageError for text that is none."""
        from artifactctl.domain.quantities import parse_percent

        return value if isinstance(value, Decimal) else parse_percent(str(value))


@click.command("vocab", cls=Stage)
@click.option("--corpus", required=True, metavar="NAME|PATH", help="The merged corpus whose tokens are counted.")
@click.option("--draft-size", type=click.IntRange(min=1), help="How many tokens the draft can say.")
@click.option("--target-size", type=click.IntRange(min=1), help="How many the target has (default: the tokenizer's).")
@click.option("--out", type=_PATH, metavar="DIR", help="The folder to make, below a managed root.")
@click.option("--name", default="", help="What to call the map (default: root/path).")
@click.option("--check", "map_word", metavar="MAP", help="Ask what a map that is there covers of the corpus instead.")
@click.option("--min-coverage", type=Percent(), help="With --check: exit 3 below this share, such as 98.3%.")
def vocab_command(
    corpus: str,
    draft_size: int | None,
    target_size: int | None,
    out: Path | None,
    name: str,
    map_word: str | None,
    min_coverage: Decimal | None,
) -> None:
    """Make the draft vocabulary of a corpus, or check a map.

    Writes t2d.pt (which tokens of the target the draft has) and d2t.pt (what to add to a token of the draft).

    With --check MAP it says how much of the corpus an existing map covers, and what it loses.
    """
    if map_word is not None:
        if out is not None or draft_size is not None:
            raise UsageError("--check writes nothing", remedy="leave --out and --draft-size away")
        raise SystemExit(_check(map_word, corpus, min_coverage))
    if min_coverage is not None:
        raise UsageError("--min-coverage goes with --check", remedy="name the map to check")
    if out is None or draft_size is None:
        missing = "--out" if out is None else "--draft-size"
        raise UsageError(f"{missing} is missing", remedy="`artifactctl extract vocab --help`")
    _make(corpus, out, draft_size=draft_size, target_size=target_size, name=name)


def _make(corpus: str, out: Path, *, draft_size: int, target_size: int | None, name: str) -> None:
    from extract.answering import answer, progress, session, warn
    from extract.meant import catalogued, place_meant
    from extract.vocabulary.stage import make_map

    with session() as opened, progress("counting", "records") as advance:
        opened.require_place(out)
        found, artifact = make_map(
            opened,
            place_meant(opened, corpus),
            catalogued(opened, corpus),
            out,
            draft_size=draft_size,
            target_size=target_size,
            name=name,
            progress=advance,
        )
    if found.unseen:
        warn(f"warning: {found.unseen:,} tokens of the draft never occur under the loss mask of the corpus")
    payload = {"name": artifact.name, "path": str(out.absolute()), **_payload(found)}
    answer("extract_vocab", payload, [f"{artifact.name}: {_sentence(found)}", *_lost_lines(found)])


def _check(map_word: str, corpus: str, min_coverage: Decimal | None) -> ExitCode:
    from extract.answering import answer, progress, session
    from extract.meant import place_meant
    from extract.vocabulary.counting import count_tokens
    from extract.vocabulary.map_files import read_map
    from extract.vocabulary.stage import coverage_of

    with session() as opened:
        map_place, corpus_place = place_meant(opened, map_word), place_meant(opened, corpus)
    draft_map = read_map(map_place)
    with progress("counting", "records") as advance:
        found = coverage_of(draft_map, count_tokens(corpus_place, progress=advance))
    covered = found.loss_tokens - found.lost_tokens
    enough = min_coverage is None or covered >= min_coverage * found.loss_tokens
    verdict = "" if min_coverage is None else f" ({'at least' if enough else 'less than'} {min_coverage:.4%})"
    answer(
        "extract_vocab_check",
        {"ok": enough, "min_coverage": None if min_coverage is None else float(min_coverage), **_payload(found)},
        [f"{map_word} on {corpus}: {_sentence(found)}{verdict}", *_lost_lines(found)],
    )
    return ExitCode.DONE if enough else ExitCode.CHECK_FAILED


def _payload(found: "Coverage") -> dict[str, Any]:
    return {
        "draft_size": len(found.draft_map.used),
        "target_size": found.draft_map.target_size,
        "coverage": found.coverage,
        "loss_tokens": found.loss_tokens,
        "lost_tokens": found.lost_tokens,
        "unseen": found.unseen,
        "content_digest": found.draft_map.content_digest,
        "most_lost": [{"token_id": token, "count": count} for token, count in _most_lost(found)],
    }


def _sentence(found: "Coverage") -> str:
    sizes = f"{len(found.draft_map.used):,} of {found.draft_map.target_size:,} tokens"
    return f"{sizes} cover {found.coverage:.4%} of {found.loss_tokens:,} learned tokens, {found.lost_tokens:,} are lost"


def _lost_lines(found: "Coverage") -> list[str]:
    return [f"  lost: token {token:,}, {count:,} times" for token, count in _most_lost(found)]


def _most_lost(found: "Coverage") -> list[tuple[int, int]]:
    return sorted(found.lost.items(), key=lambda item: (-item[1], item[0]))[:MOST_LOST]
