"""Beginning to make something at a place, or joining those who do: nothing of anybody else becomes part of it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.shares import DividedWork
from artifactctl.domain.artifacts import Artifact, ArtifactKind
from artifactctl.domain.errors import Refused
from artifactctl.domain.text import display_path
from extract.publishing import is_free, listed_names

STAGE = "stage"
"""The key of an identity that names its stage; one without it is an extraction."""

_EXTRACTION = "extraction"
_ELSEWHERE = "give another --out, or run the command that began it"
_SHARD_NAMES = re.compile(r"shard-\d+\.safetensors(\.\d+)?(\.partial)?|manifest\.json(\.partial)?")
_WORDS = {"shard_bytes": "shard size in bytes", "norm": "final state", "dtype": "element type"}


def require_unused(place: Path, *, packed: bool = True) -> None:
    """Return when nothing is at a place that nobody announced, or with `packed` shards alone; Refused otherwise.

    What is sealed there owns every file in it: a stranger's would be deleted with the states. Shards say themselves
    what run they are of, and are judged by that.
    """
    if is_free(place):
        return
    names = listed_names(place) if place.is_dir() else [""]
    stranger = next((name for name in names if not (packed and _SHARD_NAMES.fullmatch(name))), None)
    if stranger is not None:
        raise Refused(
            f"{display_path(os.fsencode(place / stranger))} is there already and is no part of what is made here",
            remedy="give another --out, or move it away",
        )


def join_making(
    session: Session,
    building: Artifact,
    place: Path,
    *,
    kind: ArtifactKind,
    identity: Mapping[str, str],
    shares: int,
    is_ours: bool,
) -> DividedWork:
    """Return the shares of what is being made at the place, divided here if nobody did before.

    `is_ours` says that this process announced it a moment ago. Refused when it is of another kind, was begun with
    another identity, or by a program that divides nothing and has written there: what two programs wrote would be one
    artifact, made from what only one of them read.
    """
    if building.kind is not kind:
        raise Refused(f"{building.name}, a {building.kind.value}, is being made there", remedy="give another --out")
    if not is_ours and not session.is_divided(building) and not is_free(place):
        raise Refused(f"{building.name} is being made there by another program", remedy="give another --out")
    work = session.divide(building, fingerprint=identity, shares=shares)
    require_same(identity, work.division.fingerprint, place=str(place))
    return work


def require_same(mine: Mapping[str, str], theirs: Mapping[str, str], *, place: str) -> None:
    """Return when what was begun at a place is this; Refused with all differences otherwise."""
    stage = theirs.get(STAGE, _EXTRACTION)
    if stage != mine.get(STAGE, _EXTRACTION):
        raise Refused(f"{place} was begun by a command of another stage: {stage}", remedy=_ELSEWHERE)
    differences = [
        f"{_WORDS.get(name, name.replace('_', ' '))} {mine.get(name) or 'unknown'} here, "
        f"{theirs.get(name) or 'unknown'} there"
        for name in sorted({*mine, *theirs})
        if mine.get(name) != theirs.get(name)
    ]
    if differences:
        raise Refused(f"{place} was begun by another run: {'; '.join(differences)}", remedy=_ELSEWHERE)
