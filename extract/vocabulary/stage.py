"""Making a vocabulary map as a stage of the pipeline, and asking whether one that exists still serves."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.errors import UsageError
from extract.publishing import folder_aside, is_free, publish
from extract.vocabulary.counting import TokenCounts, count_tokens
from extract.vocabulary.draft_map import DraftMap, choose_draft
from extract.vocabulary.map_files import ABOUT, MEMBERS, read_map, write_map

LONGEST_RUN = timedelta(days=1)
SCHEMA = "artifactctl.vocab_map/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of a corpus a map can say; `lost` are the learned tokens it cannot, by id. `unseen` never occur."""

    draft_map: DraftMap
    loss_tokens: int
    lost: Counter[int]
    unseen: int

    @property
    def lost_tokens(self) -> int:
        """How many learned tokens of the corpus the draft cannot say."""
        return self.lost.total()

    @property
    def coverage(self) -> float:
        """The share that it can say, 0 to 1."""
        return (self.loss_tokens - self.lost_tokens) / self.loss_tokens


def coverage_of(draft_map: DraftMap, counted: TokenCounts) -> Coverage:
    """Return what the map covers of the counted tokens."""
    return Coverage(
        draft_map=draft_map,
        loss_tokens=counted.loss_tokens,
        lost=draft_map.lost(counted.counts),
        unseen=sum(token not in counted.counts for token in draft_map.used),
    )


def make_map(
    session: Session,
    corpus: Path,
    parent: str,
    place: Path,
    *,
    draft_size: int,
    target_size: int | None,
    name: str,
    progress: Callable[[int], None],
) -> tuple[Coverage, Artifact]:
    """Make the map of a corpus and register it as extracted from `parent`, "" when that is not catalogued."""
    with ExitStack() as held:
        if parent:
            held.enter_context(session.lease([parent], until=session.now + LONGEST_RUN))
        counted = count_tokens(corpus, progress=progress)
        target = target_size or counted.target_vocabulary
        if target is None:
            raise UsageError("how many tokens the target has is not known", remedy="give --target-size")
        found = coverage_of(choose_draft(counted.counts, draft_size=draft_size, target_size=target), counted)
        _write(place, found, _about(found, counted, parent))
        artifact = session.register(
            place,
            kind=ArtifactKind.VOCAB_MAP,
            name=name,
            inputs=[f"{parent}:{LineageRole.EXTRACTED_FROM.value}"] if parent else [],
            labels={"content": found.draft_map.content_digest},
        )
    return found, artifact


def _write(place: Path, found: Coverage, about: dict[str, Any]) -> None:
    if not is_free(place):
        try:
            same = json.loads((place / ABOUT).read_bytes()) == about and read_map(place) == found.draft_map
        except (OSError, ValueError):
            same = False
        if not same:
            raise UsageError(f"{place} is there already, and is not this map", remedy="give another --out")
        return
    with folder_aside(place, MEMBERS) as aside:
        write_map(aside, found.draft_map, about)
        publish(aside, place)


def _about(found: Coverage, counted: TokenCounts, parent: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "draft_size": len(found.draft_map.used),
        "target_size": found.draft_map.target_size,
        "content_digest": found.draft_map.content_digest,
        "coverage": found.coverage,
        "loss_tokens": found.loss_tokens,
        "lost_tokens": found.lost_tokens,
        "unseen": found.unseen,
        "corpus": {"artifact": parent or None, "digest": counted.corpus_digest},
    }
