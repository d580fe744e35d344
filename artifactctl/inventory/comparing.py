"""What a walk meets, against what the catalog lists, while both stream by."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.identity import member_order
from artifactctl.domain.members import MOST_EXAMPLES, Member
from artifactctl.domain.observation import MemberDrift


class ComparedMembers:
    """The catalogued members of one artifact; `meet` what is on disk in `member_order`, then `end`."""

    def __init__(self, catalog: Catalog, artifact_id: int) -> None:
        self._context: AbstractContextManager[Reading] = catalog.reading()
        self._catalogued: Iterator[Member] = self._context.__enter__().members(artifact_id)
        self._next: Member | None = next(self._catalogued, None)
        self._strays: list[bytes] = []
        self._missing: list[bytes] = []
        self._resized: list[tuple[bytes, int, int]] = []
        self._counts = {"strays": 0, "missing": 0, "resized": 0}

    def meet(self, relative: bytes, letter: str, size_bytes: int) -> bool:
        """Return whether what stands at the path is a catalogued member (of whatever size)."""
        key = member_order(relative)
        while self._next is not None and member_order(self._next[0]) < key:
            self._miss(self._next)
            self._next = next(self._catalogued, None)
        if self._next is None or self._next[0] != relative:
            return False
        before, self._next = self._next, next(self._catalogued, None)
        if before[1] != letter:
            self._miss(before)
            return False
        if before[2] != size_bytes:
            self._counts["resized"] += 1
            if len(self._resized) < MOST_EXAMPLES:
                self._resized.append((relative, before[2], size_bytes))
        return True

    def expects_below(self, folder: bytes) -> bool:
        """Whether the next catalogued member lies below the folder, which is where the walk is now."""
        return self._next is not None and self._next[0].startswith(folder + b"/")

    def end(self) -> MemberDrift:
        """Return the drift; what the catalog still expected is missing."""
        while self._next is not None:
            self._miss(self._next)
            self._next = next(self._catalogued, None)
        self.close()
        return MemberDrift(
            strays=self._counts["strays"],
            missing=self._counts["missing"],
            resized=self._counts["resized"],
            stray_examples=tuple(self._strays),
            missing_examples=tuple(self._missing),
            resized_examples=tuple(self._resized),
        )

    def close(self) -> None:
        """Give the catalog's snapshot back."""
        self._context.__exit__(None, None, None)

    def _miss(self, member: Member) -> None:
        self._counts["missing"] += 1
        if len(self._missing) < MOST_EXAMPLES:
            self._missing.append(member[0])

    def count_stray(self, relative: bytes) -> None:
        """Take something that is no member for one that the artifact has gained."""
        self._counts["strays"] += 1
        if len(self._strays) < MOST_EXAMPLES:
            self._strays.append(relative)
