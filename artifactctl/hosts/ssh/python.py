"""Starting a Python program on another machine, with whichever Python 3.8 or newer is there."""

from datetime import timedelta

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.channel import SILENCE, SshChannel
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.destination import Destination
from artifactctl.hosts.ssh.failures import PythonMissing, SudoRefused
from artifactctl.hosts.ssh.shell import word
from artifactctl.hosts.ssh.starting import START_TIMEOUT, Mark, ScriptFailed, new_mark, start_script

OLDEST = (3, 8)
NEWEST_KNOWN = 15
INTERPRETERS = (
    "python3",
    *(f"python3.{minor}" for minor in range(NEWEST_KNOWN, OLDEST[1] - 1, -1)),
    "/usr/bin/python3",
    "/usr/local/bin/python3",
    "/opt/conda/bin/python3",
    "/opt/python/bin/python3",
)
"""What is tried, in this order: names by the PATH that the login shell leaves, then places where it often lies."""

NO_PYTHON = 69
"""How the search ends that found none (EX_UNAVAILABLE of sysexits)."""

# An older Python, or a stub that offers to install one, prints nothing and is passed over. A wrapper such as pyenv's
# gives the interpreter behind it, which starts faster and is what sudo must know.
_QUESTION = f"import sys; sys.version_info >= {OLDEST} and print(sys.executable)"


def find_python(name: str) -> str:
    """Return lines of /bin/sh that set the variable `name` to the path of an interpreter, or to nothing."""
    return (
        f"{name}=\n"
        f"for each in {' '.join(INTERPRETERS)}; do\n"
        '  command -v "$each" >/dev/null 2>&1 || continue\n'
        f'  {name}=$("$each" -I -S -c {word(_QUESTION)} </dev/null 2>/dev/null)\n'
        f'  case "${name}" in /*) break ;; *) {name}= ;; esac\n'
        "done\n"
    )


def start_python(
    connection: Connection,
    program: str,
    *,
    sudo: bool = False,
    silence: timedelta = SILENCE,
    start_timeout: timedelta = START_TIMEOUT,
) -> SshChannel:
    """Run a Python program there and return its bytes, from the first that it writes itself.

    PythonMissing where no Python is new enough; SudoRefused where `sudo -n` does not run it.
    """
    mark = new_mark()
    try:
        started = start_script(
            connection, _script(program, mark, sudo=sudo), mark, silence=silence, start_timeout=start_timeout
        )
    except ScriptFailed as failed:
        if failed.status == NO_PYTHON:
            raise PythonMissing(
                f"{connection.destination} has no Python {OLDEST[0]}.{OLDEST[1]} or newer"
                f" that {connection.destination.user} can run",
                remedy="install python3 there; until then only `df` and `du` are answered, and nothing is changed",
            ) from failed
        if sudo and "sudo" in failed.said:
            raise sudo_refused(connection.destination, failed.said) from failed
        raise
    return started.channel


def sudo_refused(destination: Destination, said: str) -> SudoRefused:
    """Return the refusal with what sudo said and the line that would let it."""
    user = destination.user
    words = "; ".join(line for line in said.splitlines() if "sudo" in line) or said
    return SudoRefused(
        f"sudo does not run Python for {user} on {destination}: {printable(words)}",
        remedy=f"on that machine: `visudo -f /etc/sudoers.d/artifactctl`, the line `{user} ALL=(root) NOPASSWD: ALL` "
        f"(a rule for python3 alone would let {user} do as much)",
    )


def _script(program: str, mark: Mark, *, sudo: bool) -> str:
    """Return the script: the program itself prints the mark, so that it is proof of having started."""
    marked = f"import os; os.write(1, b'\\0{mark.first}' + b'{mark.second} \\n'); del os\n{program}"
    # -S: what is installed there beside the standard library is not looked through, which takes longer than the rest.
    # -X utf8: any bytes of a file name survive, whatever the locale there.
    # The messages of sudo are looked at, so they must not be translated.
    start = 'LC_ALL=C exec sudo -n -- "$python"' if sudo else 'exec "$python"'
    return f'{find_python("python")}[ -n "$python" ] || exit {NO_PYTHON}\n{start} -I -S -X utf8 -c {word(marked)}'
