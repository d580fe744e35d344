"""Joining what is being made at a place: only by those who make the same of the same."""

from collections.abc import Mapping
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.shares import DividedWork
from artifactctl.domain.artifacts import Artifact, ArtifactKind
from artifactctl.domain.errors import Refused
from extract.publishing import is_free

STAGE = "stage"
"""The key of an identity that names its stage; one without it is an extraction."""

_EXTRACTION = "extraction"
_ELSEWHERE = "give another --out, or run the command that began it"
_WORDS = {"shard_bytes": "shard size in bytes", "norm": "final state", "dtype": "element type"}


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
