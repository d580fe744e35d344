"""What the probe raises, and silence, as errors of the domain."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from artifactctl.domain.errors import (
    Busy,
    HostDenied,
    HostFailure,
    HostReadOnly,
    HostRefused,
    HostUnreachable,
    OutcomeUnknown,
)
from artifactctl.domain.text import display_path, printable
from artifactctl.hosts.calling import Unanswered
from artifactctl.hosts.probe.failures import Fault, LockLost, ProbeFailure, RootBusy

_NO_ROOM = {
    errno.ENOSPC: "the filesystem is full to its last block, and what artifactctl keeps for that is used up: give it "
    "some MiB by hand, then run the command again",
    errno.EDQUOT: "the quota is used up: give it some MiB by hand, then run the command again",
}
_DOCTOR = "`artifactctl doctor` shows what was left unfinished"


@contextmanager
def looking(doing: str, path: bytes) -> Iterator[None]:
    """Turn what a look raises into a HostFailure that names the object."""
    what = f"cannot {doing} {display_path(path)}"
    try:
        yield
    except FileNotFoundError as error:
        raise HostFailure(f"{what}: it is not there", remedy="check the path") from error
    except PermissionError as error:
        raise HostDenied(
            f"{what}: {error.strerror}", remedy="run the same command with sudo, or as its owner"
        ) from error
    except TimeoutError as error:
        raise HostFailure(
            f"{what}: the filesystem does not answer",
            remedy="check the server behind the mount, then run the command again",
        ) from error
    except OSError as error:
        raise HostFailure(
            f"{what}: {error.strerror or error}", remedy="`artifactctl doctor` looks at the volume"
        ) from error
    except ProbeFailure as error:
        raise HostFailure(f"{what}: {error.message}", remedy=error.remedy) from error
    except Unanswered as error:
        raise _unreachable(f"{what}: {error.machine} did not answer: {error.reason}") from error


@contextmanager
def asking(doing: str) -> Iterator[None]:
    """Turn what a look at a root's own folder raises into an error of the domain."""
    try:
        yield
    except Unanswered as error:
        raise _unreachable(f"{doing} failed: {error.machine} did not answer: {error.reason}") from error
    except (OSError, ProbeFailure) as error:
        raise _failure(doing, error) from error


@contextmanager
def acting(doing: str) -> Iterator[None]:
    """Turn what a change raises into an error of the domain; without an answer its outcome is unknown."""
    try:
        yield
    except Unanswered as error:
        if not error.was_asked:
            raise _unreachable(f"{doing} was not begun: {error.machine} cannot be reached: {error.reason}") from error
        raise OutcomeUnknown(
            f"{doing}: whether it was done is not known, since {error.machine} was lost meanwhile: {error.reason}",
            remedy="`artifactctl doctor` asks the root's journal as soon as the machine can be reached; "
            "nothing is asked of it a second time before that",
        ) from error
    except (OSError, ProbeFailure) as error:
        raise _failure(doing, error) from error


def _unreachable(message: str) -> HostUnreachable:
    return HostUnreachable(message, remedy="check the machine and the way to it, then run the command again")


def _failure(doing: str, error: OSError | ProbeFailure) -> HostFailure | Busy:
    if isinstance(error, OSError):
        return _system_failure(doing, error)
    if isinstance(error, RootBusy):
        return Busy(error.message, remedy=error.remedy)
    if isinstance(error, LockLost):
        remedy = "`artifactctl doctor` shows unfinished operations; then try again"
        return HostFailure(f"{doing} was not begun: {error.message}", remedy=remedy)
    if isinstance(error, Fault):
        return HostFailure(f"{doing} failed: {error.message}", remedy=_DOCTOR)
    return HostRefused(error.message, remedy=error.remedy)


def _system_failure(doing: str, error: OSError) -> HostFailure:
    where = f" ({_printable(error.filename)})" if error.filename else ""
    said = f"{doing} failed: {error.strerror}{where}"
    if isinstance(error, PermissionError):
        return HostDenied(said, remedy="run the same command with sudo, or as the owner of the root")
    if error.errno == errno.EROFS:
        remedy = "mount it read-write (the kernel's log says whether an error made it read-only)"
        return HostReadOnly(said, remedy=remedy)
    if error.errno in _NO_ROOM:
        return HostRefused(said, remedy=_NO_ROOM[error.errno])
    return HostFailure(said, remedy=_DOCTOR)


def _printable(name: str | bytes | int) -> str:
    return display_path(name) if isinstance(name, bytes) else printable(str(name))
