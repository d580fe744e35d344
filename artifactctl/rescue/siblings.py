"""Which of several things side by side looks like the older version of another, from their names alone; pure.

It is a guess and is offered as one. Only words that say "version" count: `v2`, a date, `old`, `bak`, `prev`. A bare
number does not: `part-1` and `part-2` are halves of one thing.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.rescue.finds import Find

_SEPARATED = rb"(?:^|[-_. ])"
_VERSION = re.compile(_SEPARATED + rb"(?:v(?P<version>\d+)|(?P<date>20\d{2}-?\d{2}-?\d{2}))(?=$|[-_. ])", re.IGNORECASE)
_OLD = re.compile(_SEPARATED + rb"(?:old|bak|backup|prev|previous|orig)\d*(?=$|[-_. ])|~$", re.IGNORECASE)

_KINDS = (ArtifactKind.HIDDEN_STATES, ArtifactKind.OTHER)


def older_siblings(finds: Iterable[Find]) -> dict[bytes, Find]:
    """Return, for everything that looks like an older version, the newest whole sibling: by path.

    The times must agree with the names: what changed after its supposed successor is not older.
    """
    families: dict[tuple[bytes, bytes, ArtifactKind], list[Find]] = defaultdict(list)
    for find in finds:
        if find.kind in _KINDS and find.is_directory:
            families[find.folder, _stem(find.name), find.kind].append(find)
    older: dict[bytes, Find] = {}
    for family in families.values():
        newest = max(family, key=lambda find: (_age_key(find), find.modified_at))
        for find in family:
            is_older = _age_key(find) < _age_key(newest) and find.modified_at < newest.modified_at
            if is_older and newest.is_whole:
                older[find.relative] = newest
    return older


def _stem(name: bytes) -> bytes:
    return _OLD.sub(b"", _VERSION.sub(b"", name)).strip(b"-_. ").lower()


def _age_key(find: Find) -> tuple[bool, int, int]:
    """Return (not called old, date, version): the older, the smaller."""
    date = version = 0
    for match in _VERSION.finditer(find.name):
        if match["date"]:
            date = int(match["date"].replace(b"-", b""))
        else:
            version = int(match["version"])
    return (_OLD.search(find.name) is None, date, version)
