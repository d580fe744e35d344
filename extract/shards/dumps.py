"""Dumps of hidden states in any layout that is understood, as sequences of records; they stay where they are."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from artifactctl.domain.errors import UsageError
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.shards.manifest import NAME
from extract.shards.records import StateRecord

SPECFORGE_SAMPLE = re.compile(r"(?:.*/)?data_(\d+)\.ckpt(?:\.gz)?")
SPECULATORS_SAMPLE = re.compile(r"(?:.*/)?hs_(\d+)\.safetensors")


class DumpLayout(StrEnum):
    """How records lie in files."""

    PACKED = "packed"
    SPECFORGE = "specforge"
    SPECULATORS = "speculators"


class BrokenRecord(ValueError):
    """One record of a dump cannot be read as such; the others can. `index` is its number in the dump."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


class Dump(Protocol):
    """Records by position. Reading one that is torn or something else raises BrokenRecord."""

    form: StatesForm

    @property
    def fingerprint(self) -> RunFingerprint | None:
        """What the run was made of, None where the layout does not say."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, position: int) -> StateRecord: ...

    def close(self) -> None:
        """Close what is open."""
        ...


class DumpWriter(Protocol):
    """Writes a dump, record by record; what an interrupted run wrote before is kept."""

    def append(self, record: StateRecord) -> None:
        """Write a record; RejectedRecord when it is not fit."""
        ...

    def reject(self, index: int, reason: str) -> None:
        """Note that a record will be missing."""
        ...

    def complete(self) -> None:
        """Write what comes last; from here on the dump is complete."""
        ...

    def abandon(self) -> None:
        """Give back what is half written."""
        ...


def open_dump(folder: Path, files: Sequence[str] = ()) -> Dump:
    """Return the dump in `folder`. `files` are its files, relative: from the catalog; a packed dump lists its own.

    UsageError when they are no dump of hidden states.
    """
    from extract.shards.packing import PackedDump
    from extract.shards.specforge import SpecForgeDump
    from extract.shards.speculators import SpeculatorsDump

    if (folder / NAME).exists():
        return PackedDump(folder)
    samples = numbered(files, SPECFORGE_SAMPLE)
    if samples:
        return SpecForgeDump(folder, samples)
    samples = numbered(files, SPECULATORS_SAMPLE)
    if samples:
        return SpeculatorsDump(folder, samples, files)
    raise UsageError(
        f"{folder} holds neither packed shards nor samples of SpecForge or speculators",
        remedy="`artifactctl show` says what the catalog takes it for; a dump that is unfinished has no manifest yet",
    )


def numbered(files: Sequence[str], pattern: re.Pattern[str]) -> tuple[tuple[int, str], ...]:
    """Return (number, file) of the files that match, by number; UsageError when two have the same."""
    found = sorted((int(match[1]), file) for file in files if (match := pattern.fullmatch(file)))
    for (number, file), (following, other) in pairwise(found):
        if number == following:
            raise UsageError(f"{file} and {other} are both record {number}", remedy="take one of them away")
    return tuple(found)


def each_record(dump: Dump) -> Iterator[StateRecord | BrokenRecord]:
    """Yield every record, or in its place why it cannot be read."""
    for position in range(len(dump)):
        try:
            yield dump[position]
        except BrokenRecord as broken:
            yield broken
