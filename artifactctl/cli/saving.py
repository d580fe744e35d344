"""Writing a file that a person asked for by name: over an earlier one of the same sort, never over anything else."""

import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

from artifactctl.domain.errors import Refused, UsageError

_COMPRESSED = ".zst"
_HEAD_BYTES = 4096
_BEGINNING_BYTES = 8
_NAMED = re.compile(rb"artifactctl(_|[ .][a-z-]+)")


def save_text(path: bytes, text: str) -> None:
    """Write the text and a line end, as `save_stream` does."""
    save_stream(path, (text + "\n",))


def save_stream(path: bytes, pieces: Iterable[str]) -> None:
    """Write the pieces one after the other; the file is there, or replaced, only once it is complete and durable.

    A name that ends in `.zst` means compressed. The file beside it has another ending until then: collectors read
    whatever ends in `.prom`. It gets the mode of the one it replaces; where `path` is a link, what it leads to is
    replaced. UsageError when the place cannot be written, Refused when something else is there; either leaves what was
    there.
    """
    place = Path(os.fsdecode(path))
    coming = iter(pieces)
    first = next(coming, "")
    try:
        _require_of_one_sort(place, first)
        if _takes_a_stream(place):
            with place.open("w", encoding="utf-8") as stream:
                stream.writelines(chain((first,), coming))
        else:
            _replace(Path(os.path.realpath(place)), chain((first,), coming))
    except OSError as error:
        raise UsageError(
            f"{place} cannot be written: {error.strerror}", remedy="name a file in a folder that may be written to"
        ) from error


def _takes_a_stream(place: Path) -> bool:
    """Whether it is a terminal, a pipe or a descriptor of somebody's: nothing may be renamed over its name."""
    try:
        there = place.stat()
    except FileNotFoundError:
        return False
    given = place.absolute().parts[1:2]
    return not (stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode)) or given in (("dev",), ("proc",))


def _replace(place: Path, pieces: Iterable[str]) -> None:
    from artifactctl.catalog.publishing import keep_mode, partial_file, publish_over

    with partial_file(place, mode=0o666) as partial:
        with _open_to_write(partial, compressed=place.name.endswith(_COMPRESSED)) as file:
            file.writelines(pieces)
        keep_mode(partial, of=place)
        publish_over(partial, place)


@contextmanager
def _open_to_write(file: Path, *, compressed: bool) -> Iterator[IO[str]]:
    if not compressed:
        with file.open("w", encoding="utf-8") as plain:
            yield plain
        return
    import zstandard  # heavy for every other command

    with (
        file.open("wb") as packed,
        zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as packing,
        io.TextIOWrapper(packing, encoding="utf-8") as text,
    ):
        yield text


def _beginning_of(place: Path) -> bytes:
    with place.open("rb") as file:
        if not place.name.endswith(_COMPRESSED):
            return file.read(_HEAD_BYTES)
        import zstandard

        try:
            return zstandard.ZstdDecompressor().stream_reader(file).read(_HEAD_BYTES)
        except zstandard.ZstdError:
            return b""  # something else that bears the name


def _require_of_one_sort(place: Path, text: str) -> None:
    """Refuse to write over a file that does not begin as `text` does: a shard, the catalog, somebody's notes.

    What is no regular file (a terminal, a pipe) holds nothing to lose.
    """
    try:
        there = place.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(there.st_mode) or not there.st_size:
        return
    if _is_of_one_sort(_beginning_of(place), text.encode("utf-8", "replace")[:_HEAD_BYTES]):
        return
    raise Refused(
        f"{place} is there already, was not written by this command, and stays as it is", remedy="name another file"
    )


def _is_of_one_sort(there: bytes, coming: bytes) -> bool:
    """Whether both begin alike and name the same schema or title, or, where none is named, have the same first line.

    The audit export names none: the first event of a log never changes.
    """
    named = _NAMED.search(coming)
    if named is None:
        return there.partition(b"\n")[0] == coming.partition(b"\n")[0]
    return there[:_BEGINNING_BYTES] == coming[:_BEGINNING_BYTES] and named[0] in there
