"""Where an artifact lies on this machine, and what it consists of."""

import os
from dataclasses import dataclass
from pathlib import Path

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.domain.errors import Refused
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.targets import local_roots


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyHere:
    """A living copy: `path` is its top, `files` are its catalogued files relative to that, in the catalog's order.

    `files` is empty for an artifact that is one file. What else lies in the folder is not part of the artifact.
    """

    path: Path
    files: tuple[str, ...]


def copy_here(catalog: Catalog, host: Host, artifact: Artifact) -> CopyHere:
    """Return the copy of an artifact below a root of this machine; Refused when there is none."""
    with catalog.reading() as reading:
        ours = {root.root_id for root in local_roots(host, reading)}
        for replica in artifact.replicas:
            if replica.state is ReplicaState.LIVE and replica.root.root_id in ours:
                members = reading.members(artifact.artifact_id)
                return CopyHere(
                    path=Path(os.fsdecode(replica.root.path + b"/" + replica.relative)),
                    files=tuple(os.fsdecode(member[0]) for member in members if member[1] == "f" and member[0]),
                )
    raise Refused(
        f"{artifact.name} has no living copy on this machine", remedy=f"`artifactctl show {artifact.name}` says where"
    )
