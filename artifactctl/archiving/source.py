"""What is to be copied: one live copy, as it lies there, which must be what the catalog says."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from artifactctl.archiving.failures import NotAsCatalogued, NotCopiable, SourceChanged
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import HostFailure, Refused
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.members import compare_members
from artifactctl.domain.observation import MemberDrift
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry
from artifactctl.inventory.attesting import statements_for
from artifactctl.inventory.targets import Target, require_recorded_volume
from artifactctl.inventory.writers import who_may_write, who_may_write_elsewhere, why_not_known_elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a copy is made from, and everything in it. `shown` says for a person where it is.

    `fingerprint` tells it from what it may be later: a copy that was begun from another one is not gone on with.
    """

    artifact: Artifact
    entries: tuple[CopyEntry, ...]
    fingerprint: str
    shown: str

    @property
    def is_directory(self) -> bool:
        """Whether it is a folder."""
        return self.entries[0].letter == "d"

    @property
    def files(self) -> tuple[CopyEntry, ...]:
        """The files whose bytes are read: of several names of one inode the first."""
        met: set[int] = set()
        found = []
        for entry in self.entries:
            if entry.letter == "f" and entry.group not in met:
                found.append(entry)
                met |= {entry.group} - {0}
        return tuple(found)

    @property
    def size_bytes(self) -> int:
        """The bytes of its files, holes included, every inode once."""
        return sum(entry.size_bytes for entry in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Origin):
    """A live copy; its fingerprint is that of the moment its entries were listed."""

    replica: Replica

    @property
    def target(self) -> ManagedPath:
        """Where it lies."""
        return target_of(self.replica)

    def path_of(self, relative: bytes) -> bytes:
        """Return the absolute path of an entry."""
        return self.target.absolute + b"/" + relative if relative else self.target.absolute


def target_of(replica: Replica) -> ManagedPath:
    """Return where a replica lies."""
    return ManagedPath(root=replica.root.path, relative=replica.relative)


def source_of(
    work: ArchivingWork, artifact: Artifact, *, at: Target | None = None, towards: Root | None = None
) -> Replica:
    """Return the live copy to read: that at the place that was typed, else one whose machine answers.

    One outside of the root that it goes to comes first, then one on the machine that it goes to, then the oldest.
    Refused when none is live.
    """
    live = [r for r in artifact.replicas if r.state is ReplicaState.LIVE]
    if not live:
        states = ", ".join(sorted({r.state.value for r in artifact.replicas})) or "nowhere"
        raise Refused(
            f"{artifact.name} has no live copy that could be read: it is {states}",
            remedy=f"artifactctl show {artifact.name}",
        )
    typed = [r for r in live if at is not None and (r.root, r.relative) == (at.root, at.relative)]
    *others, last = typed or sorted(live, key=lambda r: (r.root == towards, _is_apart(r, towards), r.replica_id))
    for replica in others:
        try:
            work.host_of(replica.root)
        except HostFailure as failure:
            work.say(f"the copy in {replica.root.name} is left out: {failure.message}")
            continue
        return replica
    return last


def _is_apart(replica: Replica, towards: Root | None) -> bool:
    return towards is not None and replica.root.host_id != towards.host_id


def examine(work: ArchivingWork, artifact: Artifact, replica: Replica) -> Source:
    """List what is to be copied; Refused when it is not what the catalog has, or cannot be copied faithfully."""
    host = work.host_of(replica.root)
    require_recorded_volume(host, replica.root, catalog_id=work.catalog.lineage_id)
    before = look(work, artifact, replica)
    entries, problems = host.copy_entries(replica.root, target_of(replica))
    problems = (*problems, *why_not_copiable(entries))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise NotCopiable(
            f"{artifact.name} cannot be copied faithfully: {problems[0]}{more}",
            remedy="bring that in order, then `artifactctl scan` and try again",
        )
    with work.catalog.reading() as reading:
        drift = _drift(reading, artifact, entries)
    if not drift.is_none:
        raise NotAsCatalogued(
            f"{artifact.name} is not as the catalog has it: {_described(drift)}",
            remedy=f"`artifactctl scan --accept {artifact.name}` lets the catalog follow what is there",
        )
    return Source(
        artifact=artifact,
        replica=replica,
        entries=entries,
        fingerprint=before.fingerprint,
        shown=f"{work.acting_on(replica.root).host}:{display_path(target_of(replica).absolute)}",
    )


def look(work: ArchivingWork, artifact: Artifact, replica: Replica) -> ContentLook:
    """Look at a copy; Refused when it is not there whole, or while somebody may be writing to it."""
    seen = work.host_of(replica.root).contents(replica.root, target_of(replica))
    shown = display_path(seen.path)
    if not seen.is_there or seen.problems:
        why = seen.problems[0] if seen.problems else "nothing is there"
        raise NotAsCatalogued(f"{artifact.name} cannot be read at {shown}: {why}", remedy="artifactctl scan")
    writer = who_may_write(seen.writers)
    if writer:
        raise SourceChanged(
            f"{artifact.name} may be changing: {writer}", remedy="wait until that has ended, then try again"
        )
    _require_nobody_elsewhere(work, artifact, replica, seen)
    return seen


def _require_nobody_elsewhere(work: ArchivingWork, artifact: Artifact, replica: Replica, seen: ContentLook) -> None:
    """Ask every machine that mounts the source's volume by what is on record: who writes there is not seen here."""
    root, host = replica.root, work.host_of(replica.root)
    with work.catalog.reading() as reading:
        statement = statements_for(reading, host.identify()).get(root.root_id)
    if statement is None or not statement.elsewhere:
        return
    looks = work.clients.writers_to(
        statement.elsewhere, root, replica.relative, seen, catalog_id=work.catalog.lineage_id
    )
    writer = who_may_write_elsewhere(looks)
    if writer:
        raise SourceChanged(
            f"{artifact.name} may be changing: {writer}", remedy="wait until that has ended, then try again"
        )
    silence = why_not_known_elsewhere(statement, looks)
    if silence:
        raise SourceChanged(
            f"{artifact.name} may be changing: {silence}",
            remedy=f"`artifactctl host check NAME` for the machine, or `artifactctl root attest {root.name}` without "
            "one that no longer mounts it",
        )


def require_unchanged(work: ArchivingWork, source: Source) -> None:
    """SourceChanged unless the source is what it was when it was listed."""
    if look(work, source.artifact, source.replica).fingerprint != source.fingerprint:
        raise SourceChanged(
            f"{source.artifact.name} changed while it was being copied; nothing of the copy counts",
            remedy="run the same command again when nobody writes to it",
        )


def why_not_copiable(entries: Iterable[CopyEntry]) -> tuple[str, ...]:
    """Return what a copy could not have, in one line each: all but files, folders and links that stay inside."""
    found = []
    for entry in entries:
        shown = display_path(entry.relative) or "it"
        if entry.letter == "o":
            found.append(f"{shown} is neither a file, a folder nor a link")
        elif entry.letter == "l" and not stays_inside(entry.relative, entry.link_target):
            found.append(f"the link {shown} leads out of it, to {display_path(entry.link_target)}")
    return tuple(found)


def stays_inside(link: bytes, target: bytes) -> bool:
    """Whether a link at `link` below the top leads to something below it wherever the top is; by its text alone."""
    if target.startswith(b"/") or not link:
        return False
    way = posixpath.normpath(posixpath.join(posixpath.dirname(link), target))
    return way != b".." and not way.startswith(b"../")


def _drift(reading: Reading, artifact: Artifact, entries: Iterable[CopyEntry]) -> MemberDrift:
    seen = ((e.relative, e.letter, e.size_bytes) for e in entries if e.letter != "d")
    return compare_members(reading.members(artifact.artifact_id), seen)


def _described(drift: MemberDrift) -> str:
    counts = ((drift.strays, "more than it has"), (drift.missing, "missing"), (drift.resized, "of another size"))
    examples = (*drift.stray_examples, *drift.missing_examples, *(item[0] for item in drift.resized_examples))
    what = ", ".join(f"{count} {words}" for count, words in counts if count)
    return f"{what}, such as {display_path(examples[0]) or 'the file itself'}"
