"""The story's folder on another machine, as seen from here: what `far_side` there is asked to do."""

import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

import artifactctl.demonstration
from artifactctl.domain.errors import HostFailure, UsageError
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.connecting import reach
from artifactctl.hosts.ssh.channel import SshChannel
from artifactctl.hosts.ssh.python import start_python
from artifactctl.hosts.wire.channel import ChannelLost

_SIGN_OF_LIFE_SECONDS = 5.0
_PIECE_BYTES = 64 << 10


class FarFolder:
    """`path` is the folder on the machine `name`; `left_before` are those of earlier stories that a SIGKILL left."""

    def __init__(self, channel: SshChannel, name: str) -> None:
        self._channel = channel
        self._name = name
        self._unread = b""
        self._one_at_a_time = threading.Lock()
        self._over = threading.Event()
        told = self._answer()
        if "problem" in told:
            raise UsageError(
                f"no folder can be made on {name}: {told['problem']}",
                remedy="name a folder there that you may write to with --dir",
            )
        self.path: str = told["folder"]
        self.left_before: tuple[str, ...] = tuple(told["left"])
        threading.Thread(target=self._show_life, name="artifactctl-demo-life", daemon=True).start()

    def unpack(self, folder: Path) -> None:
        """Put a copy of the local `folder` into it, under its own name."""
        with _packing() as (archive, packing):
            packing.add(folder, arcname=folder.name, filter=_without_owner)
        self._send(archive)

    def write(self, name: str, text: str) -> None:
        """Put one more file into it."""
        content = text.encode()
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        with _packing() as (archive, packing):
            packing.addfile(entry, io.BytesIO(content))
        self._send(archive)

    def run(self, *words: str) -> str:
        """Run a command there and return what it printed."""
        return str(self._ask({"do": "run", "words": words})["said"])

    @contextmanager
    def reading(self, script: str, file: str) -> Iterator[tuple[int, str]]:
        """Yield (process id, what it said) of a Python program of the folder that keeps a file of it open."""
        told = self._ask({"do": "read", "words": [script, file]})
        try:
            yield int(told["process"]), str(told["said"])
        finally:
            self._ask({"do": "let_go"})

    def remove(self) -> None:
        """Let the folder be removed, and wait until it is; HostFailure when nobody says that it was."""
        self._over.set()
        answer = self._ask({"do": "end"})
        while answer.get("gone") != self.path:  # where an interruption came first, its question's answer comes before
            if answer.get("stays") == self.path:
                raise HostFailure(
                    f"the story's folder {self.path} stays on {self._name}: {answer['mounted']} is a mount point",
                    remedy=f"unmount that there, and remove {self.path}",
                )
            answer = self._answer()

    def _send(self, archive: io.BytesIO) -> None:
        content = archive.getvalue()
        self._ask({"do": "unpack", "bytes": len(content)}, content)

    def _show_life(self) -> None:
        while not self._over.wait(_SIGN_OF_LIFE_SECONDS):
            with self._one_at_a_time, suppress(ChannelLost):  # whoever asks next is told
                self._channel.write(b"\n")

    def _ask(self, asked: Mapping[str, Any], content: bytes = b"") -> dict[str, Any]:
        with self._one_at_a_time:
            try:
                self._channel.write(json.dumps(asked).encode("ascii") + b"\n" + content)
            except ChannelLost as lost:
                self._lost(str(lost))
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        try:
            while b"\n" not in self._unread:
                came = self._channel.read(_PIECE_BYTES)
                if not came:
                    self._lost(self._channel.said() or "it ended")
                self._unread += came
        except ChannelLost as lost:
            self._lost(str(lost))
        line, _, self._unread = self._unread.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told

    def _lost(self, reason: str) -> NoReturn:
        self._over.set()
        raise HostFailure(
            f"the story's folder on {self._name} was lost: {reason}",
            remedy=f"where {self._name} still runs, it removes the folder by itself within a minute",
        )


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Let a file belong to whoever unpacks it: accounts there are others."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


@contextmanager
def _packing() -> Iterator[tuple[io.BytesIO, tarfile.TarFile]]:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packing:
        yield archive, packing


@contextmanager
def far_folder(
    known: KnownHost, *, prefix: str, place: str | None, environment: Mapping[str, str]
) -> Iterator[FarFolder]:
    """Yield a new folder on a machine, below `place` (None: where temporary files go there); it is gone afterwards."""
    source = (files(artifactctl.demonstration) / "far_side.py").read_text(encoding="utf-8")
    connection = reach(known, environment=environment)
    try:
        program = f"exec(compile({source!r}, 'far_side', 'exec'))\nmain({prefix!r}, {place!r})\n"
        channel = start_python(connection, program, sudo=known.uses_sudo)
        folder = FarFolder(channel, known.name)
        try:
            yield folder
        except BaseException:
            with suppress(HostFailure):  # what is under way is what is told
                folder.remove()
            raise
        folder.remove()
    finally:
        connection.close()
