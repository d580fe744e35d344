"""Running a command while leases are held: renewed as it runs, released when it ends, its signals and code passed on.

The process exists before the leases are taken, so that they name it and not us: should we be killed, the command goes
on and nobody can prove its holder gone. It waits, without having begun, until it is let go.
"""

import os
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from artifactctl.domain.errors import UsageError

_PASSED_ON = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH}
)
_WAITED_FOR = _PASSED_ON | {signal.SIGCHLD}
_SENT_BY_KERNEL = 0x80  # si_code SI_KERNEL: the terminal sent it, to the whole foreground group
_GO = b"!"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCommand:
    """A process that becomes the command when it is let go. `let_go` or `give_up` must follow."""

    pid: int
    words: tuple[str, ...]
    go_descriptor: int
    failure_descriptor: int

    @property
    def shown(self) -> str:
        """The command as one line."""
        return shlex.join(self.words)

    def let_go(self) -> None:
        """Let the process become the command; UsageError when it cannot."""
        os.write(self.go_descriptor, _GO)
        os.close(self.go_descriptor)
        reason = os.read(self.failure_descriptor, 200)  # empty once the command has taken over
        os.close(self.failure_descriptor)
        if reason:
            os.waitpid(self.pid, 0)
            _let_signals_through()
            word = self.words[0]
            raise UsageError(f"`{word}` cannot be started: {reason.decode()}", remedy="check the words after `--`")

    def give_up(self) -> None:
        """End the process before it has become anything."""
        os.close(self.go_descriptor)
        os.close(self.failure_descriptor)
        os.waitpid(self.pid, 0)
        _let_signals_through()

    def wait(self, *, every: timedelta, sign_of_life: Callable[[], timedelta]) -> int:
        """Return the command's exit code, or 128 and the number of the signal that ended it.

        `sign_of_life` is called when `every` has passed and returns when to be called again. Signals sent to us are
        sent on; those of the terminal reached the command by themselves.
        """
        pause = every
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                _let_signals_through()
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            arrived = signal.sigtimedwait(_WAITED_FOR, pause.total_seconds())
            if arrived is None:
                pause = sign_of_life()
            elif arrived.si_signo != signal.SIGCHLD and arrived.si_code != _SENT_BY_KERNEL:
                os.kill(self.pid, arrived.si_signo)


def prepare(words: Sequence[str], environment: Mapping[str, str]) -> WaitingCommand:
    """Return the waiting process. From here on its signals wait too, until `wait` or `give_up` has returned."""
    go_read, go_write = os.pipe()
    failure_read, failure_write = os.pipe()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an inherited "ignore" would take the exit code away
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    pid = os.fork()
    if pid == 0:
        os.close(go_write)
        _become(words, environment, go_read, failure_write)
    os.close(go_read)
    os.close(failure_write)
    return WaitingCommand(pid=pid, words=tuple(words), go_descriptor=go_write, failure_descriptor=failure_read)


def _become(words: Sequence[str], environment: Mapping[str, str], go: int, failure: int) -> NoReturn:
    """Wait to be let go, then become the command. Runs in the new process and never returns into this program."""
    try:
        if os.read(go, 1) == _GO:
            for number in (*_PASSED_ON, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execvpe(words[0], list(words), dict(environment))
    except OSError as error:
        os.write(failure, (error.strerror or str(error)).encode())
    finally:
        os._exit(127)


def _let_signals_through() -> None:
    """Unblock the signals; those that came while nobody was left to send them to are forgotten."""
    while signal.sigtimedwait(_WAITED_FOR, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED_FOR)
