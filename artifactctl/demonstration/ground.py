"""Where the story's files lie: on this machine or on another one, and how a person would get at them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from artifactctl.demonstration.far_folder import FarFolder
from artifactctl.demonstration.reader import SCRIPT, SCRIPT_NAME, reading
from artifactctl.demonstration.storyteller import Storyteller
from artifactctl.domain.ledger import KnownHost

VOLUME = "volume"
"""The folder that the tool will manage, in the story's own."""


class Ground(Protocol):
    """The folder with the files. `machine` is the one it is on, None for this one."""

    @property
    def machine(self) -> KnownHost | None: ...

    def settle(self, volume: Path) -> None:
        """Bring what was laid out in the local folder `volume` to its place."""
        ...

    def place(self, *parts: str) -> str:
        """Return how our commands name a path below the managed folder."""
        ...

    def look(self, teller: Storyteller, *words: str) -> None:
        """Show a command about the managed folder, such as `df -h`, with what it prints."""
        ...

    def reading(self, teller: Storyteller, *parts: str) -> AbstractContextManager[None]:
        """Let a process keep a file open, shown as it is started and ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NearGround:
    """This machine: the files lie in `folder`, where the commands are typed."""

    folder: Path

    @property
    def machine(self) -> KnownHost | None:
        return None

    def settle(self, volume: Path) -> None:
        """Nothing has to be moved."""

    def place(self, *parts: str) -> str:
        return "/".join((VOLUME, *parts))

    def look(self, teller: Storyteller, *words: str) -> None:
        teller.run(*words, VOLUME)

    @contextmanager
    def reading(self, teller: Storyteller, *parts: str) -> Iterator[None]:
        shard = self.place(*parts)
        with reading(shard, folder=self.folder) as (process_id, said):
            teller.type("python", SCRIPT_NAME, shard, background=True)
            teller.show(said)
            yield
            teller.type("kill", str(process_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class FarGround:
    """Another machine: what is typed there is typed behind `ssh ADDRESS`."""

    known: KnownHost
    folder: FarFolder

    @property
    def machine(self) -> KnownHost | None:
        return self.known

    def settle(self, volume: Path) -> None:
        self.folder.unpack(volume)
        self.folder.write(SCRIPT_NAME, SCRIPT)

    def place(self, *parts: str) -> str:
        return f"{self.known.name}:{self._path(VOLUME, *parts)}"

    def look(self, teller: Storyteller, *words: str) -> None:
        command = (*words, self._path(VOLUME))
        teller.type("ssh", self.known.address, *command)
        teller.show(self.folder.run(*command))

    @contextmanager
    def reading(self, teller: Storyteller, *parts: str) -> Iterator[None]:
        script, shard = self._path(SCRIPT_NAME), self._path(VOLUME, *parts)
        with self.folder.reading(script, shard) as (process_id, said):
            teller.type("ssh", self.known.address, "python3", script, shard, background=True)
            teller.show(said)
            yield
            teller.type("ssh", self.known.address, "kill", str(process_id))

    def _path(self, *parts: str) -> str:
        return "/".join((self.folder.path, *parts))
