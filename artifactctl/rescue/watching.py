"""The walk and the watch on the writers at the same time, both against the clock.

Both run in threads that are not waited for when a filesystem stops answering: first aid says what it has by then.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from artifactctl.domain.activity import VolumeActivity
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import ArtifactctlError
from artifactctl.domain.observation import VolumeUsage, VolumeUses
from artifactctl.domain.operations import OperationRecord
from artifactctl.hosts.protocol import DeletedHolder, Listing, Marker
from artifactctl.recognition.seen import join
from artifactctl.rescue.finds import Findings
from artifactctl.rescue.searching import Search

WATCHED_SHARE = 0.6
"""How much of the time the writers are watched; the rest is left for a machine that is slow to answer."""

GRACE_SECONDS = 0.5

Answer = TypeVar("Answer")


class FirstAidHost(Protocol):
    """What first aid asks of a machine; all of it only looks."""

    def usage(self, path: bytes) -> VolumeUsage: ...

    def resolve(self, path: bytes) -> tuple[bytes, bytes | None]: ...

    def walk(self, path: bytes) -> Iterator[Listing]: ...

    def read_range(self, path: bytes, offset: int, length: int) -> bytes: ...

    def activity(self, path: bytes, *, seconds: float) -> VolumeActivity: ...

    def uses_on_volume(self, path: bytes) -> VolumeUses: ...

    def held_by_deleted(self, path: bytes) -> tuple[DeletedHolder, ...]: ...

    def read_marker(self, root: bytes) -> Marker | None: ...

    def operations(self, root: Root) -> tuple[OperationRecord, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What was seen in the time there was. None: it could not be asked, or did not answer; `problems` says which."""

    findings: Findings
    activity: VolumeActivity | None
    uses: VolumeUses | None
    deleted: tuple[DeletedHolder, ...]
    problems: tuple[str, ...]


def watch(
    host: FirstAidHost,
    path: bytes,
    *,
    tops: tuple[bytes, ...],
    seconds: float,
    progress: Callable[[int], None],
) -> Watched:
    """Measure the writers, look for users and walk the tree at `path`, in about `seconds`.

    `tops` are the absolute names by which links may lead to it; `progress` is told how many entries a folder had.
    """
    ends_at = time.monotonic() + seconds
    problems: list[str] = []
    sample = _Task("the writers", lambda: host.activity(path, seconds=seconds * WATCHED_SHARE))
    uses = _Task("the users of files", lambda: host.uses_on_volume(path)).result(seconds / 2, problems)
    deleted = _Task("deleted files", lambda: host.held_by_deleted(path))

    def read(relative: bytes, offset: int, length: int) -> bytes:
        return host.read_range(join(path, relative), offset, length)

    search = Search(tops, read, uses, is_over=lambda: time.monotonic() >= ends_at, progress=progress)

    def walk() -> None:
        with closing(cast("_Closable", host.walk(path))) as listings:
            search.run(cast("Iterator[Listing]", listings))

    walking = _Task("the tree", walk)
    walking.wait(ends_at + GRACE_SECONDS - time.monotonic())
    walking.explain(problems)
    left = max(GRACE_SECONDS, ends_at - time.monotonic())
    return Watched(
        findings=search.findings(),
        activity=sample.result(left, problems),
        uses=uses,
        deleted=deleted.result(GRACE_SECONDS, problems) or (),
        problems=tuple(problems),
    )


class _Closable(Protocol):
    def close(self) -> None: ...


class _Task(Generic[Answer]):
    """One question in a thread of its own."""

    def __init__(self, what: str, ask: Callable[[], Answer]) -> None:
        self._what = what
        self._ask = ask
        self._answer: Answer | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._ask()
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that asked
            self._failure = failure

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(max(0.0, seconds))

    def explain(self, problems: list[str]) -> None:
        """Note a refusal of the machine; raise what is a fault of the program."""
        if isinstance(self._failure, ArtifactctlError):
            problems.append(self._failure.message)
        elif self._failure is not None:
            raise self._failure

    def result(self, seconds: float, problems: list[str]) -> Answer | None:
        """Return the answer, None with a note in `problems` when there is none in time."""
        self.wait(seconds)
        if self._thread.is_alive():
            problems.append(f"{self._what}: no answer in time")
        self.explain(problems)
        return self._answer
