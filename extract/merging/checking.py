"""Comparing a merge with its sources, whoever's script made it: what is in, missing, there twice, cut, altered."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from artifactctl.domain.errors import UsageError
from extract.merging.comparable import Comparing, holds_texts
from extract.merging.manifest import read_merge_manifest
from extract.merging.matching import Matching, Outcome
from extract.merging.preparing import Limits, Preparing
from extract.merging.sources import Source
from extract.merging.tally import Drop
from extract.merging.tokenization import read_tokenizer

MOST_EXAMPLES = 20
"""Examples of each kind; all are counted."""


@dataclass(slots=True, kw_only=True)
class SourceCheck:
    """What became of the records of one source. `left_out` counts those that the corpus does not want, by reason."""

    source: Source
    read: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    left_out: Counter[Drop] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One record that is not simply in the corpus; `what` is an outcome or `doubled`."""

    what: str
    path: str
    line: int


@dataclass(slots=True, kw_only=True)
class MergeCheck:
    """The comparison. `doubled` counts records too many, `of_no_source` those that no source has."""

    records: int = 0
    sources: list[SourceCheck]
    doubled: int = 0
    of_no_source: int = 0
    examples: list[Example] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether every record of the sources that was readable and wanted is in, once and unchanged."""
        unreadable = sum(each.left_out[Drop.UNREADABLE] for each in self.sources)
        wrong = sum(each.outcomes.total() - each.outcomes[Outcome.IN] for each in self.sources)
        return not (unreadable or wrong or self.doubled or self.of_no_source)

    def note(self, what: str, source: int, line: int) -> None:
        """Keep an example."""
        if sum(example.what == what for example in self.examples) < MOST_EXAMPLES:
            self.examples.append(Example(what=what, path=self.sources[source].source.label, line=line))


def check_merge(
    place: Path,
    sources: Sequence[Source],
    *,
    tokenizer: Path | None,
    template: Path | None,
    progress: Callable[[int], None],
) -> MergeCheck:
    """Compare the corpus at `place` with the sources.

    A corpus that was merged here is compared by the settings in its manifest. UsageError when it takes a tokenizer to
    compare and none is known, or another one than it was merged with.
    """
    comparing = _comparing(place, tokenizer, template)
    check = MergeCheck(sources=[SourceCheck(source=source) for source in sources])
    matching = Matching()
    try:
        for record in comparing.corpus(place):
            matching.add(record)
            check.records += 1
            progress(1)
        for number in range(len(sources)):
            _meet(check, number, comparing, matching, progress)
        for number, line, outcome in matching.rest():
            check.sources[number].outcomes[outcome] += 1
            check.note(outcome.value, number, line)
        for origin, line_of, too_many in matching.doubled():
            check.doubled += too_many
            if origin is not None and line_of is not None:
                check.note("doubled", origin, line_of)
        check.of_no_source = matching.of_no_source()
    finally:
        matching.close()
    return check


def _meet(
    check: MergeCheck, number: int, comparing: Comparing, matching: Matching, progress: Callable[[int], None]
) -> None:
    counts = check.sources[number]
    for seen in comparing.source(counts.source):
        counts.read += 1
        progress(1)
        if seen.record is None:
            reason = seen.left_out or Drop.UNREADABLE
            counts.left_out[reason] += 1
            if reason is Drop.UNREADABLE:
                check.note(reason.value, number, seen.line)
            continue
        outcome = matching.meet(number, seen.line, seen.record)
        if outcome is not None:
            counts.outcomes[outcome] += 1
            if outcome is not Outcome.IN:
                check.note(outcome.value, number, seen.line)


def _comparing(place: Path, tokenizer: Path | None, template: Path | None) -> Comparing:
    manifest = read_merge_manifest(place)
    if manifest is not None:
        return Comparing(_as_merged(manifest["merge"], tokenizer, template), by_text=False)
    if holds_texts(place):
        return Comparing(None, by_text=True)
    if tokenizer is None:
        return Comparing(None, by_text=False)
    return Comparing(Preparing(read_tokenizer(tokenizer, template_file=template), Limits()), by_text=False)


def _as_merged(said: dict[str, Any], tokenizer: Path | None, template: Path | None) -> Preparing:
    place = tokenizer or Path(said["tokenizer"]["path"])
    found = read_tokenizer(place, template_file=template)
    if found.digest != said["tokenizer"]["digest"]:
        raise UsageError(
            f"the corpus was merged with another tokenizer than that at {place}", remedy="give it as --tokenizer"
        )
    if hashlib.sha256(found.template.encode()).hexdigest() != said["template_digest"]:
        raise UsageError(
            f"the corpus was merged with another chat template than that of {place}",
            remedy="give it as --chat-template",
        )
    return Preparing(found, Limits(max_tokens=said["max_tokens"], min_tokens=said["min_tokens"]))
