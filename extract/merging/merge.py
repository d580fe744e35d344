"""Merging: response sets in, one corpus out, every record accounted for.

1. Read every source once: tokenise, filter, and hand what is left to the sort; list what cannot be read.
2. Write the members in the order of the seed, without duplicates.
3. Reconcile: read = kept + dropped for each source, kept = records of the corpus. Otherwise nothing is published.
4. Write the manifest, rename the folder into place.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifactctl.domain.errors import ArtifactctlError, UsageError
from extract.merging.entries import pack
from extract.merging.manifest import Recipe, SourceResult, is_that_corpus, manifest_of, read_merge_manifest
from extract.merging.preparing import Preparing
from extract.merging.shuffling import ExternalSort
from extract.merging.sources import Reading, Source
from extract.merging.tally import Drop, Tally
from extract.merging.writing import MEMBERS, UNREADABLE, Written, write_manifest, write_members
from extract.publishing import folder_aside, is_free, publish, sync_file

MOST_LISTED = 1000
"""Unreadable records beyond are in `unreadable.txt` only."""

Progress = Callable[[int], None]
"""progress(records read since the last call)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A record that nobody could read, by file and line."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A corpus that stands at its place, and what its manifest says. `is_new` is false when it stood there before."""

    place: Path
    manifest: dict[str, Any]
    unreadable: tuple[Unreadable, ...]
    is_new: bool

    @property
    def unreadable_records(self) -> int:
        """How many records could not be read, those included that are not listed."""
        return sum(source["dropped"].get(Drop.UNREADABLE, 0) for source in self.manifest["merge"]["sources"])


def merge(sources: Sequence[Source], place: Path, recipe: Recipe, *, progress: Progress) -> Merged:
    """Merge the sources into a corpus at `place`; one that stands there already and is the same is left as it is."""
    if not is_free(place):
        return _standing(sources, place, recipe)
    with folder_aside(place, MEMBERS) as aside:
        sort = ExternalSort(aside)
        try:
            results, unreadable = _read_all(sources, recipe, sort, aside, progress)
            written = write_members(aside, sort.ascending(), [result.tally for result in results])
        finally:
            sort.close()
        _require_reconciled(results, written)
        write_manifest(aside, manifest_of(recipe, results, written))
        publish(aside, place)
    manifest = read_merge_manifest(place)
    assert manifest is not None, "it was written a moment ago"
    return Merged(place=place, manifest=manifest, unreadable=tuple(unreadable), is_new=True)


def _standing(sources: Sequence[Source], place: Path, recipe: Recipe) -> Merged:
    manifest = read_merge_manifest(place)
    if manifest is None or not is_that_corpus(place, manifest, recipe, sources):
        raise UsageError(f"{place} is there already, and is not this corpus", remedy="give another --out")
    return Merged(place=place, manifest=manifest, unreadable=(), is_new=False)


def _read_all(
    sources: Sequence[Source], recipe: Recipe, sort: ExternalSort, aside: Path, progress: Progress
) -> tuple[list[SourceResult], list[Unreadable]]:
    results: list[SourceResult] = []
    listed: list[Unreadable] = []
    preparing = Preparing(recipe.tokenizer, recipe.limits)
    with open(aside / UNREADABLE, "wb") as list_file:
        for number, source in enumerate(sources):
            reading, tally = Reading(source), Tally()
            for prepared in preparing.prepare(number, reading.records()):
                tally.read += 1
                progress(1)
                if prepared.entry is not None:
                    tally.truncated += prepared.truncated
                    sort.add(pack(prepared.entry, seed=recipe.seed))
                elif prepared.drop is not None:
                    tally.dropped[prepared.drop] += 1
                if prepared.drop is Drop.UNREADABLE:
                    found = Unreadable(path=source.label, line=prepared.line, problem=prepared.problem)
                    list_file.write(f"{found}\n".encode("utf-8", "backslashreplace"))
                    if len(listed) < MOST_LISTED:
                        listed.append(found)
            results.append(
                SourceResult(source=source, sha256=reading.sha256, size_bytes=reading.size_bytes, tally=tally)
            )
        sync_file(list_file)
    if not listed:
        (aside / UNREADABLE).unlink()
    return results, listed


class CountsDoNotReconcile(ArtifactctlError):
    """Records were lost or doubled within the merge: a defect; nothing was published."""


def _require_reconciled(results: Sequence[SourceResult], written: Written) -> None:
    for result in results:
        if not result.tally.reconciles:
            raise CountsDoNotReconcile(f"the counts of {result.source.label} do not reconcile: {result.tally}")
    kept = sum(result.tally.kept for result in results)
    if kept != written.records:
        raise CountsDoNotReconcile(f"{kept} records were kept and {written.records} written")
    if not kept:
        reasons = sum((result.tally.dropped for result in results), Counter[Drop]())
        said = ", ".join(f"{count} {reason.value}" for reason, count in sorted(reasons.items())) or "nothing was read"
        raise UsageError(
            f"no record is left to merge: {said}", remedy="check the sources, --max-tokens and --min-tokens"
        )
