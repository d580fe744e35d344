"""`artifactctl extract convert`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.domain.errors import ExitCode
from extract.answering import Stage
from extract.shards.dumps import DumpLayout

if TYPE_CHECKING:
    from extract.shards.converting import Converted

MOST_REJECTED = 20


class Size(click.ParamType):  # type: ignore[type-arg]  # generic for type checkers only in the oldest click
    """A size with its unit, such as 4GiB, of so many bytes at least."""

    name = "size"

    def __init__(self, *, least_bytes: int = 0) -> None:
        self._least_bytes = least_bytes

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes; UsageError for text that is no size, or too small a one."""
        from artifactctl.domain.errors import UsageError
        from artifactctl.domain.quantities import parse_size

        size_bytes = value if isinstance(value, int) else parse_size(str(value))
        if size_bytes < self._least_bytes:
            option = "a size" if param is None else param.opts[0]
            raise UsageError(f"{value} is too small for {option}", remedy=f"give {self._least_bytes} bytes or more")
        return size_bytes


SMALLEST_SHARD = Size(least_bytes=4096)
"""A file takes a block: more shards than that would be more names than states."""


@click.command("convert", cls=Stage)
@click.argument("artifact", metavar="NAME")
@click.option(
    "--to",
    "layout",
    type=click.Choice([each.value for each in DumpLayout]),
    required=True,
    help="The layout to write: ours, or the one that SpecForge or speculators reads.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder to make.")
@click.option("--codec", type=click.Choice(["none", "planes"]), default="none", help="How packed states are coded.")
@click.option(
    "--shard-size", type=SMALLEST_SHARD, default="4GiB", help="How large packed shards become (default: 4GiB)."
)
@click.option("--name", default="", help="What to call the new dump (default: root/path).")
def convert_command(artifact: str, layout: str, out: Path, codec: str, shard_size: int, name: str) -> None:
    """Write hidden states anew in another layout, bit for bit.

    The new dump is registered as made from the first, which stays. Records that cannot be read are listed and left out;
    the exit code is then 5. Interrupted, the same command goes on where it was.
    """
    from artifactctl.api.formats import Codec
    from artifactctl.domain.errors import UsageError
    from extract.answering import answer, progress, session
    from extract.requirements import need
    from extract.shards.converting import Conversion, convert

    need("numpy", purpose="reading hidden states")
    if codec == "planes" and layout != DumpLayout.PACKED:
        raise UsageError(f"{layout} knows no codec", remedy="leave --codec away, or use --to packed")
    wanted = Conversion(
        name=artifact,
        layout=DumpLayout(layout),
        out=out,
        codec=Codec(codec),
        shard_bytes=shard_size,
        new_name=name,
    )
    with session() as opened, progress("converting", "records") as advance:
        converted = convert(opened, wanted, progress=advance)
    answer("extract_convert", _payload(converted, out), _lines(converted))
    raise SystemExit(int(ExitCode.PARTLY_DONE if converted.rejected else ExitCode.DONE))


def _payload(converted: "Converted", out: Path) -> dict[str, Any]:
    from extract.answering import json_path

    return {
        "name": converted.artifact.name,
        **json_path(str(out.absolute())),
        "records": converted.records,
        "tokens": converted.tokens,
        "rejected": [{"index": each.index, "reason": each.reason} for each in converted.rejected],
    }


def _lines(converted: "Converted") -> list[str]:
    lines = [f"{converted.artifact.name}: {converted.records:,} records of {converted.tokens:,} tokens"]
    lines += [f"  left out: record {each.index}: {each.reason}" for each in converted.rejected[:MOST_REJECTED]]
    more = len(converted.rejected) - MOST_REJECTED
    return [*lines, f"  and {more:,} records more"] if more > 0 else lines
