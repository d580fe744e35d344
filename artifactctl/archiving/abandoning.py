"""Giving up copies that were begun, with what was written of them.

Only what was written for the copy goes: in a root what its listing names, in a store the objects of its own folder.
What may be whole already (in its place, or with its manifest) is brought to its end instead, and nothing is given up
while no other copy is left: then it may be all there is of the artifact.
"""

from collections.abc import Sequence

from artifactctl.archiving.archive import require_role
from artifactctl.archiving.begun import BegunCopy
from artifactctl.archiving.making import take_away
from artifactctl.archiving.others import copier_at_work, has_another
from artifactctl.archiving.store_copies import abandon, remove_objects
from artifactctl.archiving.unfinished import call_gone
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, Replica
from artifactctl.domain.errors import Busy, Refused
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyState


class MayBeAllThereIs(Refused):
    """Nothing else is left of the artifact."""


def give_up(work: ArchivingWork, artifact: Artifact, begun: Sequence[BegunCopy]) -> None:
    """Take away what was written of copies that were begun, then let the catalog say that nothing came of them (I7)."""
    require_role(work, artifact)
    _require_another(work, artifact)
    for copy in begun:
        if copy.replica is not None:
            _give_up_in_root(work, copy, copy.replica)
        if copy.archive is not None:
            _give_up_in_store(work, copy, copy.archive)


def _require_another(work: ArchivingWork, artifact: Artifact) -> None:
    with work.catalog.reading() as reading:
        is_left = has_another(reading, artifact)
    if not is_left:
        raise MayBeAllThereIs(
            f"no other copy of {artifact.name} is left: what was copied of it may be all there is",
            remedy=f"artifactctl show {artifact.name}",
        )


def _give_up_in_root(work: ArchivingWork, copy: BegunCopy, replica: Replica) -> None:
    root = replica.root
    records = work.host_of(root).copies(root)
    found = [r for r in records if r.note is not None and r.note.target.relative == replica.relative]
    with work.catalog.reading() as reading:
        artifact = reading.artifact_by_id(replica.artifact_id)
        copier = "" if artifact is None else copier_at_work(work, reading, artifact)
    if copier:
        raise Busy(f"{copy.name} is not given up at {display_path(copy.to)}: {copier}", remedy="artifactctl lease ls")
    for record in found:
        if record.is_being_written:
            raise Busy(f"a copy of {copy.name} to this place is being made right now", remedy="wait until it has ended")
        if record.state is CopyState.PLACED:
            raise Refused(
                f"the copy of {copy.name} at {display_path(copy.to)} is whole and in its place",
                remedy="`artifactctl doctor --repair` brings it to its end",
            )
        with work.changing(root):
            take_away(work, root, record)
    if not found:
        call_gone(work, replica, copy.name)


def _give_up_in_store(work: ArchivingWork, copy: BegunCopy, archive: ArchiveCopy) -> None:
    with work.catalog.reading() as reading:
        if reading.leases(work.clock(), artifact_ids=(archive.artifact_id,)):
            raise Busy(
                f"somebody uses {copy.name}, perhaps to copy it to {archive.url} right now",
                remedy="`artifactctl lease ls` says who; wait until that has ended",
            )
    remove_objects(work, copy.name, archive)
    abandon(work, copy.name, archive)
