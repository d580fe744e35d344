"""Merging as a stage of the pipeline: sources by name or path, leased while they are read, the corpus registered."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.errors import UsageError
from extract.meant import catalogued, place_meant
from extract.merging.manifest import Recipe
from extract.merging.merge import Merged, Progress, merge
from extract.merging.sources import Source, files_of

LONGEST_RUN = timedelta(days=7)


def sources_meant(session: Session, words: Sequence[str]) -> list[Source]:
    """Return the files that the words mean, in their order; UsageError when one means nothing or comes twice."""
    sources = []
    for word in words:
        name, place = catalogued(session, word), place_meant(session, word)
        sources += [Source(path=Path(os.path.abspath(file)), artifact=name) for file in files_of(place)]
    seen: set[Path] = set()
    for source in sources:
        resolved = Path(os.path.realpath(source.path))
        if resolved in seen:
            raise UsageError(f"{source.label} is named twice", remedy="name each source once")
        seen.add(resolved)
    return sources


def with_leases_merged(
    session: Session, sources: Sequence[Source], place: Path, recipe: Recipe, *, name: str, progress: Progress
) -> tuple[Merged, Artifact]:
    """Merge while the catalogued sources are leased, then register the corpus as merged from them."""
    parents = sorted({source.artifact for source in sources if source.artifact})
    with ExitStack() as leases:
        if parents:
            leases.enter_context(session.lease(parents, until=session.now + LONGEST_RUN))
        merged = merge(sources, place, recipe, progress=progress)
        artifact = session.register(
            place,
            kind=ArtifactKind.MERGED_CORPUS,
            name=name,
            inputs=[f"{parent}:{LineageRole.MERGED_FROM.value}" for parent in parents],
            tokens=merged.manifest["tokens"],
            records=merged.manifest["records"],
        )
    return merged, artifact
