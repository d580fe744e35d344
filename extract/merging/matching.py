"""The records of a corpus by what they are, on disk, and what records of the sources meet there.

The tables lie in a temporary SQLite database without a name, so memory stays bounded however many records there are.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from enum import StrEnum

from extract.merging.comparable import Comparable

_MOST_CANDIDATES = 256
_CACHE_KIB = 65536

_TABLES = """
CREATE TABLE corpus (key BLOB PRIMARY KEY, prompt BLOB, length INTEGER, mask BLOB, times INTEGER, met INTEGER,
                     source INTEGER, line INTEGER) WITHOUT ROWID;
CREATE INDEX by_prompt ON corpus (prompt);
CREATE TABLE unmatched (source INTEGER, line INTEGER, prompt BLOB);
"""


class Outcome(StrEnum):
    """What became of a record of a source."""

    IN = "in"
    MISSING = "missing"
    CUT = "cut"
    """Only its beginning is in the corpus."""
    ALTERED = "altered"
    """Its prompt is in the corpus with another answer that no source has, or its tokens with another loss mask."""


class Matching:
    """Takes the corpus, then every record of the sources, then says what is left."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("")
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        """Give the tables back."""
        self._database.close()

    def add(self, record: Comparable) -> None:
        """Take a record of the corpus."""
        self._database.execute(
            "INSERT INTO corpus VALUES (?, ?, ?, ?, 1, 0, NULL, NULL) "
            "ON CONFLICT (key) DO UPDATE SET times = times + 1",
            (_hash(record.form), _hash(record.prompt), len(record.form), _mask_hash(record)),
        )

    def meet(self, source: int, line: int, record: Comparable) -> Outcome | None:
        """Return what is known of a record of a source now; None when that shows at the end (`rest`)."""
        key = _hash(record.form)
        found = self._database.execute("SELECT mask FROM corpus WHERE key = ?", (key,)).fetchone()
        if found is not None:
            self._mark(key, source, line)
            return Outcome.IN if found[0] == _mask_hash(record) else Outcome.ALTERED
        beginning = self._beginning_of(record)
        if beginning is not None:
            self._mark(beginning, source, line)
            return Outcome.CUT
        self._database.execute("INSERT INTO unmatched VALUES (?, ?, ?)", (source, line, _hash(record.prompt)))
        return None

    def rest(self) -> Iterator[tuple[int, int, Outcome]]:
        """Yield (source, line, outcome) of what was met nowhere; each record of the corpus explains one of them."""
        for source, line, prompt in self._database.execute("SELECT source, line, prompt FROM unmatched ORDER BY rowid"):
            altered = self._database.execute(
                "SELECT key FROM corpus WHERE prompt = ? AND source IS NULL LIMIT 1", (prompt,)
            ).fetchone()
            if altered is not None:
                self._mark(altered[0], source, line)
            yield source, line, Outcome.MISSING if altered is None else Outcome.ALTERED

    def doubled(self) -> Iterator[tuple[int | None, int | None, int]]:
        """Yield (source, line, how many too many) of what is in the corpus more often than in the sources."""
        yield from self._database.execute(
            "SELECT source, line, times - max(met, 1) FROM corpus WHERE times > max(met, 1) ORDER BY source, line, key"
        )

    def of_no_source(self) -> int:
        """Return how many records of the corpus no record of the sources explains."""
        (count,) = self._database.execute("SELECT coalesce(sum(times), 0) FROM corpus WHERE source IS NULL").fetchone()
        return int(count)

    def _beginning_of(self, record: Comparable) -> bytes | None:
        candidates = self._database.execute(
            "SELECT key, length FROM corpus WHERE prompt = ? AND length < ? ORDER BY length DESC LIMIT ?",
            (_hash(record.prompt), len(record.form), _MOST_CANDIDATES),
        )
        for key, length in candidates.fetchall():
            if _hash(record.form[:length]) == key:
                return bytes(key)
        return None

    def _mark(self, key: bytes, source: int, line: int) -> None:
        self._database.execute(
            "UPDATE corpus SET met = met + 1, source = coalesce(source, ?), line = coalesce(line, ?) WHERE key = ?",
            (source, line, key),
        )


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _mask_hash(record: Comparable) -> bytes | None:
    return None if record.mask is None else _hash(record.mask)
