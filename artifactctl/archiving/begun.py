"""Copies of an artifact that were begun and are not whole, as the catalog knows them, wherever they lie."""

import os
from dataclasses import dataclass

from artifactctl.catalog import Reading
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState
from artifactctl.domain.text import shell_word
from artifactctl.inventory.machine_choice import machine_of_root
from artifactctl.inventory.places import Here, Place
from artifactctl.inventory.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunCopy:
    """One copy, in a root (`replica`) or an object store (`archive`); `to` is the word that `--to` takes for it."""

    name: str
    to: bytes
    replica: Replica | None = None
    archive: ArchiveCopy | None = None

    @property
    def again(self) -> str:
        """The command that goes on with it."""
        codec = f" --codec {self.archive.codec}" if self.archive is not None and self.archive.codec != "raw" else ""
        return f"artifactctl archive {shell_word(os.fsencode(self.name))} --to {shell_word(self.to)}{codec}"

    @property
    def give_up(self) -> str:
        """The command that takes away what was written of it."""
        return f"artifactctl archive {shell_word(os.fsencode(self.name))} --to {shell_word(self.to)} --abandon"

    def is_at(self, target: Target | None, url: str | None) -> bool:
        """Whether it is the one to a place, or to a store; any is where neither is named."""
        if url is not None:
            return self.archive is not None and self.archive.url == url.rstrip("/")
        if target is None:
            return True
        replica = self.replica
        return replica is not None and replica.root == target.root and target.covers(replica.relative)


def begun_copies(reading: Reading, artifact: Artifact, *, here: Here) -> tuple[BegunCopy, ...]:
    """Return the copies of an artifact that were begun and count for nothing yet, those being made now among them."""
    known = reading.artifact_by_id(artifact.artifact_id) or artifact
    in_roots = tuple(
        BegunCopy(name=artifact.name, to=_typed(reading, replica, here), replica=replica)
        for replica in known.replicas
        if replica.state is ReplicaState.ARCHIVING
    )
    in_stores = tuple(
        BegunCopy(name=artifact.name, to=copy.url.encode(), archive=copy)
        for copy in reading.archives(artifact_ids=(artifact.artifact_id,))
        if copy.state is ReplicaState.ARCHIVING
    )
    return (*in_roots, *in_stores)


def _typed(reading: Reading, replica: Replica, here: Here) -> bytes:
    path = replica.root.path.rstrip(b"/") + b"/" + replica.relative
    return Place(machine=machine_of_root(reading, replica.root, here=here), path=path).typed
