"""Whether what lies at a place was begun by the same run."""

from collections.abc import Mapping

from artifactctl.domain.errors import Refused

_WORDS = {"shard_bytes": "shard size in bytes", "norm": "final state", "dtype": "element type"}


def require_same(mine: Mapping[str, str], theirs: Mapping[str, str], *, place: str) -> None:
    """Return when a run that was begun is this one; Refused with all differences otherwise."""
    differences = [
        f"{_WORDS.get(name, name.replace('_', ' '))} {mine.get(name) or 'unknown'} here, "
        f"{theirs.get(name) or 'unknown'} there"
        for name in sorted({*mine, *theirs})
        if mine.get(name) != theirs.get(name)
    ]
    if differences:
        raise Refused(
            f"{place} was begun by another run: {'; '.join(differences)}",
            remedy="give another --out, or run the command that began it",
        )
