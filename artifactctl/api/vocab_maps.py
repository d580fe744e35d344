"""Vocabulary maps as every other part of artifactctl reads them: without torch, and without running what is in them."""

import os
from collections.abc import Sequence
from pathlib import Path

from artifactctl.recognition import vocab_maps
from artifactctl.recognition.vocab_maps import BOTH, D2T, T2D, BrokenMap

__all__ = ["BrokenMap", "map_files", "read_vocab_map"]


def map_files(names: Sequence[str]) -> list[str]:
    """Return which of the names in a folder are those of a map: two halves, else one file with both."""
    halves = [next((name for name in names if half.fullmatch(os.fsencode(name))), None) for half in (T2D, D2T)]
    if None not in halves:
        return [name for name in halves if name is not None]
    both = [name for name in names if BOTH.fullmatch(os.fsencode(name))]
    return both[:1] or [name for name in halves if name is not None]


def read_vocab_map(files: Sequence[Path]) -> tuple[list[int], list[bool]]:
    """Return d2t (int64 offsets [draft]) and t2d (bool [target]) of the map in the files; BrokenMap, OSError."""

    def read(path: bytes, offset: int, length: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(length)

    return vocab_maps.tensors(read, [(os.fsencode(file), file.stat().st_size) for file in files])
