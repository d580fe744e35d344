"""Whether a merged corpus has what it was merged from: its claims against its members, and against the catalog.

A deletion of the sources rests on this: a merge that lost records, or whose sources have grown since, is not verified.
A foreign corpus claims nothing; `artifactctl extract merge --check` compares one with its sources.
"""

from dataclasses import dataclass

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.text import printable
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.copies import Copy
from artifactctl.recognition.merged_corpora import MergeClaims, contradictions, read_claims
from artifactctl.recognition.seen import join
from artifactctl.recognition.views import FolderView


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeVerdict:
    """`problems` make it incomplete; with `doubts` it is complete and proves nothing about its sources."""

    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def judge_merge(host: Host, catalog: Catalog, artifact: Artifact, copy: Copy) -> MergeVerdict:
    """Derive the claims of a merged corpus again; nothing to say of anything else."""
    if artifact.kind is not ArtifactKind.MERGED_CORPUS or copy.top is None:
        return MergeVerdict()
    view = FolderView.of(
        copy.top, lambda relative, offset, length: host.read_range(join(copy.path, relative), offset, length)
    )
    claims = read_claims(view)
    if claims is None:
        return MergeVerdict()
    problems = contradictions(view, claims)
    problems += _against_parents(catalog, artifact, claims)
    doubts = tuple(
        f"{each.unreadable:,} of the {each.read:,} records of {printable(each.path)} could not be read for the merge"
        for each in claims.sources
        if each.unreadable
    )
    return MergeVerdict(problems=tuple(problems), doubts=doubts)


def _against_parents(catalog: Catalog, artifact: Artifact, claims: MergeClaims) -> list[str]:
    """Return which catalogued sources have other records than were read, or were never read at all."""
    problems = []
    with catalog.reading() as reading:
        edges = [e for e in reading.parents(artifact.artifact_id) if e.role is LineageRole.MERGED_FROM]
        parents = [reading.artifact_by_id(edge.parent_id) for edge in edges]
    for parent in filter(None, parents):
        problems += _against(parent, claims)
    return problems


def _against(parent: Artifact, claims: MergeClaims) -> list[str]:
    places = [r.root.path + b"/" + r.relative for r in parent.replicas]
    taken = [
        source
        for source in claims.sources
        if source.artifact == parent.name
        or any(_lies_in(source.path.encode("utf-8", "surrogateescape"), place) for place in places)
    ]
    if not taken:
        return [f"it is said to be merged from {parent.name}, of which its manifest has nothing"]
    read = sum(source.read for source in taken)
    if parent.records is not None and parent.records != read:
        return [f"{parent.name} has {parent.records:,} records, and {read:,} of it were read for the merge"]
    return []


def _lies_in(path: bytes, place: bytes) -> bool:
    return path == place or path.startswith(place + b"/")
