"""Errors say what happened, to which object, and what to type next; the class owns the exit code."""

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """The one table of exit codes (documented in README.md, tested in tests/cli)."""

    DONE = 0
    UNEXPECTED = 1
    USAGE = 2
    CHECK_FAILED = 3
    REFUSED = 4
    PARTLY_DONE = 5
    BUSY = 6
    CHANGES = 20
    INTERRUPTED = 130


class ArtifactctlError(Exception):
    """An expected failure: `message` names what happened and the object, `remedy` what to type next.

    `further` are more messages of the same sort, told each in a line of its own.
    """

    exit_code: ExitCode = ExitCode.UNEXPECTED

    def __init__(self, message: str, *, remedy: str = "", further: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.further = tuple(further)


class UsageError(ArtifactctlError):
    """The words of the command, the configuration or a file given to it are wrong."""

    exit_code = ExitCode.USAGE


class CheckFailed(ArtifactctlError):
    """A check that was asked for came out negative."""

    exit_code = ExitCode.CHECK_FAILED


class Refused(ArtifactctlError):
    """A guard, a cap, a stale plan or a missing approval stands in the way; nothing was changed."""

    exit_code = ExitCode.REFUSED


class Busy(ArtifactctlError):
    """Another operation holds the lock."""

    exit_code = ExitCode.BUSY


class HostFailure(ArtifactctlError):
    """The operating system answered a request with an error; what was asked for is not known to have happened."""


class HostRefused(HostFailure):
    """What stands there does not allow it, and it was refused before anything was changed."""

    exit_code = ExitCode.REFUSED


class HostReadOnly(HostRefused):
    """The filesystem is mounted read-only."""


class HostDenied(HostFailure):
    """The operating system does not permit it to this user."""

    exit_code = ExitCode.REFUSED


class HostUnreachable(HostFailure):
    """The machine did not answer: it cannot be reached, or the connection to it was lost."""


class OutcomeUnknown(HostUnreachable):
    """The connection was lost while something was being changed: the root's journal knows whether it was done."""

    exit_code = ExitCode.PARTLY_DONE
