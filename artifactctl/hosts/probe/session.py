"""One caller's calls on this machine, under the locks it holds here. With the session the locks go, and what it has
stopped goes on.

On each root one act is carried out at a time, also when its caller has given up waiting for it. What a call needs is
imported when it is made: a first answer from another machine waits for the compiling of nothing else.
"""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Set, Tuple

from artifactctl.hosts.probe import calls
from artifactctl.hosts.probe.calls import CALLS, Call
from artifactctl.hosts.probe.failures import LockLost

if TYPE_CHECKING:
    from artifactctl.hosts.probe.rootfolder import RootFolder
    from artifactctl.hosts.probe.rootlock import RootLock

Hooks = Mapping[str, Optional[Callable[..., Any]]]


class Session:
    """Runs calls by their names in the table."""

    def __init__(self, *, alone_after_seconds: float = 0.0) -> None:
        """Hold nothing yet; `alone_after_seconds` as a lock tells it to others."""
        self._alone_after_seconds = alone_after_seconds
        self._functions: Dict[str, Callable[..., Any]] = {}
        self._locks: Dict[str, RootLock] = {}
        self._held: Dict[bytes, str] = {}
        self._turns: Dict[bytes, Any] = {}
        self._stopped: Set[Tuple[int, int]] = set()
        self._guard = threading.Lock()

    def run(self, name: str, arguments: Sequence[Any], options: Mapping[str, Any], hooks: Hooks) -> Any:
        """Return what the call returns, for a streamed one an iterator; what it raises comes through."""
        call = CALLS[name]
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = call.function()
        given = {**options, **{hook: hooks.get(hook) for hook in call.hooks}}
        if call.takes == calls.NOTHING:
            return function(*arguments, **given)
        if call.takes == calls.SESSION:
            return function(self, *arguments, **given)
        with self._opened(call, arguments[0], given) as place:
            return function(place, *arguments[1:], **given)

    @contextmanager
    def _opened(self, call: Call, where: Any, given: Dict[str, Any]) -> Iterator[Any]:
        """Open what the call takes. A locked root is opened under the session's lock, or one for this call alone."""
        if call.takes == calls.PRIVATE:
            from artifactctl.hosts.probe import rootfolder

            with rootfolder.open_private(where) as private_fd:
                yield private_fd
            return
        if call.takes == calls.ROOT:
            with _original(where) as folder:
                yield folder
            return
        with self.turn(where[0]), self._under_lock(where) as lock:
            if "still_held" in call.hooks:
                given["still_held"] = lock.still_held
            with _original(where) as folder:
                folder.still_held = lock.still_held
                yield folder

    def turn(self, path: bytes) -> Any:
        """Return what one act at a time on the root at `path` holds."""
        with self._guard:
            return self._turns.setdefault(path, threading.RLock())

    @contextmanager
    def _under_lock(self, where: Sequence[Any]) -> Iterator[RootLock]:
        token = self._held.get(where[0])
        if token is not None:
            held = self._locks[token]
            if not held.still_held():
                from artifactctl.hosts.probe import rootfolder

                raise LockLost(f"the lock of {rootfolder.printable(where[0])} was lost to somebody else")
            yield held
            return
        lock = self._new_lock(where)
        try:
            yield lock
        finally:
            lock.release()

    def _new_lock(self, where: Sequence[Any]) -> RootLock:
        from artifactctl.hosts.probe.rootlock import RootLock

        with _original(where) as folder:
            return RootLock(folder, alone_after_seconds=self._alone_after_seconds)

    def take(self, where: Sequence[Any]) -> str:
        """Take the root's lock for the calls to come; returns its token. RootBusy when somebody has it."""
        lock = self._new_lock(where)
        token = uuid.uuid4().hex
        with self._guard:
            self._locks[token] = lock
            self._held[where[0]] = token
        return token

    def holds(self, token: str) -> bool:
        """Whether the lock with that token is still ours."""
        lock = self._locks.get(token)
        return lock is not None and lock.still_held()

    def release(self, token: str) -> None:
        """Give a lock up, when the act under way has ended; a second time does nothing."""
        for path, known in list(self._held.items()):
            if known == token:
                with self.turn(path):
                    self._forget(path, token)
                return
        self._drop(token)

    def _forget(self, path: bytes, token: str) -> None:
        with self._guard:
            if self._held.get(path) == token:
                del self._held[path]
        self._drop(token)

    def _drop(self, token: str) -> None:
        lock = self._locks.pop(token, None)
        if lock is not None:
            lock.release()

    def stop_process(self, process: int, started: int) -> bool:
        """Stop a process as `pausing.stop` does, and remember it."""
        from artifactctl.hosts.probe import pausing

        done = pausing.stop(process, started)
        if done:
            self._stopped.add((process, started))
        return done

    def resume_process(self, process: int, started: int) -> bool:
        """Let a process go on as `pausing.resume` does."""
        from artifactctl.hosts.probe import pausing

        self._stopped.discard((process, started))
        return pausing.resume(process, started)

    def close(self) -> None:
        """Let go on what is still stopped and give up every lock; waits for acts under way."""
        for process, started in list(self._stopped):
            with suppress(PermissionError):  # it changed its user meanwhile, and whoever stopped it cannot help it now
                self.resume_process(process, started)
        for token in list(self._locks):
            self.release(token)


@contextmanager
def _original(where: Sequence[Any]) -> Iterator[RootFolder]:
    """Open the root of a reference (path, root id, filesystem, inode), and refuse it where it is not the original."""
    from artifactctl.hosts.probe import marked, places, rootfolder

    with rootfolder.RootFolder(places.RootReference(*where)) as folder:
        marked.require_original(folder)
        yield folder


def stop_process(session: Session, process: int, started: int) -> bool:
    """Stop a process; see `Session.stop_process`."""
    return session.stop_process(process, started)


def resume_process(session: Session, process: int, started: int) -> bool:
    """Let a process go on; see `Session.resume_process`."""
    return session.resume_process(process, started)


def take_lock(session: Session, where: Sequence[Any]) -> str:
    """Take the lock of a root; see `Session.take`."""
    return session.take(where)


def still_held(session: Session, token: str) -> bool:
    """Whether a lock is still ours; see `Session.holds`."""
    return session.holds(token)


def release_lock(session: Session, token: str) -> None:
    """Give a lock up; see `Session.release`."""
    session.release(token)
