"""The story's folder on another machine. This text is sent there and run by its Python (3.8 or newer); nothing of it is
ever stored there.

It makes a folder, does what lines of JSON on standard input ask for, and answers each with one. Whatever ends it (what
it is told, the end of its input, a minute without a word, a signal), the processes it started are ended and the folder
is removed first. Only a SIGKILL, or the end of the machine, leaves the folder behind.
"""

from __future__ import annotations

import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from typing import Any

SILENCE_SECONDS = 60.0
REMOVAL_SECONDS = 20.0
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ended(Exception):
    """Nobody is there any more, or a signal came."""


class FarSide:
    """The folder and the processes that read in it."""

    def __init__(self, prefix: str, place: str | None) -> None:
        import fcntl  # the operating side imports this text as well, and may be no Unix

        self.folder = os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=place))
        self._held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_EX)  # while this process lives; who comes later sees by it what was left
        self._left = left_beside(self.folder, prefix)
        self._readers: list[subprocess.Popen[str]] = []
        self._unread = b""

    def serve(self) -> None:
        """Do what is asked until it is `end`; Ended when nobody asks any more."""
        self._answer({"folder": self.folder, "left": self._left})
        while True:
            line = self._line()
            if not line.strip():
                continue  # only a sign of life
            asked = json.loads(line)
            if asked["do"] == "end":
                return
            self._answer(getattr(self, "do_" + asked["do"])(asked))

    def do_unpack(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Put the files of a tar archive, whose bytes follow, into the folder."""
        with tarfile.open(fileobj=io.BytesIO(self._bytes(asked["bytes"]))) as archive:
            archive.extractall(self.folder)
        return {}

    def do_run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run a command to its end and return what it printed."""
        done = subprocess.run(
            asked["words"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
        return {"code": done.returncode, "said": done.stdout.decode("utf-8", "backslashreplace")}

    def do_read(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Start a program that keeps a file open; return its process and the first line it printed."""
        reader = subprocess.Popen(
            [sys.executable, *asked["words"]],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            universal_newlines=True,
        )
        self._readers.append(reader)
        return {"process": reader.pid, "said": reader.stdout.readline() if reader.stdout else ""}

    def do_let_go(self, asked: dict[str, Any]) -> dict[str, Any]:
        """End those programs."""
        while self._readers:
            reader = self._readers.pop()
            reader.terminate()
            reader.communicate()
        return {}

    def remove(self) -> str:
        """End what was started and remove the folder; an agent that still works in it may need a moment to notice.

        Returns where something is mounted in it, "" where nothing is: what lies there is not the story's, and then all
        of the folder stays.
        """
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        self.do_let_go({})
        give_up = time.monotonic() + REMOVAL_SECONDS
        while os.path.lexists(self.folder):
            mounted = mounted_in(self.folder)
            if mounted:
                return mounted
            shutil.rmtree(self.folder, ignore_errors=time.monotonic() < give_up)  # noqa: TID251 - the story's own folder
            time.sleep(0.05)
        return ""

    def farewell(self, mounted: str) -> None:
        """Say that everything is gone, or what keeps it."""
        self._answer({"stays": self.folder, "mounted": mounted} if mounted else {"gone": self.folder})

    def _line(self) -> bytes:
        while b"\n" not in self._unread:
            self._take()
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _bytes(self, count: int) -> bytes:
        while len(self._unread) < count:
            self._take()
        taken, self._unread = self._unread[:count], self._unread[count:]
        return taken

    def _take(self) -> None:
        ready, _, _ = select.select([0], [], [], SILENCE_SECONDS)
        came = os.read(0, 1 << 20) if ready else b""
        if not came:
            raise Ended
        self._unread += came

    def _answer(self, answer: dict[str, Any]) -> None:
        try:
            os.write(1, json.dumps(answer).encode("ascii") + b"\n")
        except OSError as error:
            raise Ended from error


def left_beside(folder: str, prefix: str) -> list[str]:
    """Return the folders of earlier stories beside this one that nobody holds any more: a SIGKILL left them."""
    import fcntl

    above = os.path.dirname(folder)
    found = []
    for name in sorted(os.listdir(above)):
        other = os.path.join(above, name)
        if not name.startswith(prefix) or other == folder:
            continue
        try:
            descriptor = os.open(other, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # somebody else's, or none
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found.append(other)
        except OSError:  # its story goes on
            continue
        finally:
            os.close(descriptor)
    return found


def mounted_in(folder: str) -> str:
    """Return a place at or below the folder where something is mounted, "" where nothing is."""
    with open("/proc/self/mountinfo", "rb") as lines:
        points = [line.split()[4].decode("unicode_escape").encode("latin-1") for line in lines]
    top = os.fsencode(folder)
    return next((os.fsdecode(point) for point in points if point == top or point.startswith(top + b"/")), "")


def _stop(number: int, frame: Any) -> None:
    raise Ended


def main(prefix: str, place: str | None) -> None:
    """Serve, and leave nothing."""
    for number in _ENDING:
        signal.signal(number, _stop)
    try:
        far = FarSide(prefix, place)
    except OSError as error:
        os.write(1, json.dumps({"problem": error.strerror}).encode("ascii") + b"\n")
        return
    try:
        far.serve()
    except Ended:
        far.remove()
        return
    except BaseException:
        far.remove()
        raise
    far.farewell(far.remove())
