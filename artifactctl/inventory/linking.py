"""Saying afterwards what came from what, what replaced what, and what somebody measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from artifactctl import audit
from artifactctl.catalog import Catalog
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.errors import UsageError
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.finding import find_artifact

DEFAULT_ROLES: dict[tuple[ArtifactKind, ArtifactKind], LineageRole] = {
    (ArtifactKind.RESPONSE_SET, ArtifactKind.MERGED_CORPUS): LineageRole.MERGED_FROM,
    (ArtifactKind.MERGED_CORPUS, ArtifactKind.HIDDEN_STATES): LineageRole.EXTRACTED_FROM,
    (ArtifactKind.MERGED_CORPUS, ArtifactKind.VOCAB_MAP): LineageRole.EXTRACTED_FROM,
    (ArtifactKind.HIDDEN_STATES, ArtifactKind.CHECKPOINT): LineageRole.TRAINED_ON,
    (ArtifactKind.VOCAB_MAP, ArtifactKind.CHECKPOINT): LineageRole.MAPPED_WITH,
    (ArtifactKind.VOCAB_MAP, ArtifactKind.DRAFT_MODEL): LineageRole.MAPPED_WITH,
    (ArtifactKind.CHECKPOINT, ArtifactKind.CHECKPOINT): LineageRole.RESUMED_FROM,
    (ArtifactKind.CHECKPOINT, ArtifactKind.DRAFT_MODEL): LineageRole.EXTRACTED_FROM,
    (ArtifactKind.MODEL, ArtifactKind.HIDDEN_STATES): LineageRole.EXTRACTED_FROM,
}
"""(parent kind, child kind) to the role meant when none is named (cli.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInput:
    """`NAME[:ROLE]` as a person typed it; `role` None where none was named."""

    word: str
    role: LineageRole | None


def parse_input(text: str) -> NamedInput:
    """Return the name and the role; a `:` never belongs to a name, but may to a path when no role follows."""
    word, colon, role = text.rpartition(":")
    if not colon:
        return NamedInput(word=text, role=None)
    if role in set(LineageRole):
        return NamedInput(word=word, role=LineageRole(role))
    if "/" in role:
        return NamedInput(word=text, role=None)
    raise UsageError(
        f"`{role}` in `{text}` is no role", remedy=did_you_mean(role, [role.value for role in LineageRole])
    )


def role_between(parent: Artifact, child: Artifact, role: LineageRole | None) -> LineageRole:
    """Return the role that was named, else the usual one for the two kinds; UsageError where there is no usual one."""
    found = role or DEFAULT_ROLES.get((parent.kind, child.kind))
    if found is None:
        raise UsageError(
            f"there is no usual role of a {parent.kind.value} in a {child.kind.value}",
            remedy=f"name it: --input {parent.name}:ROLE, with one of {', '.join(role.value for role in LineageRole)}",
        )
    return found


def link_inputs(
    writing: Writing, child: Artifact, inputs: Sequence[NamedInput], *, here: bytes, acting: Acting
) -> None:
    """Record within the caller's transaction that the child came from each input, or needs it."""
    for given in inputs:
        parent = find_artifact(writing, given.word, here=here)
        role = role_between(parent, child, given.role)
        writing.add_lineage(child.artifact_id, parent.artifact_id, role)
        entry = acting.entry("lineage.link", artifact=child.name, evidence={"parent": parent.name, "role": role.value})
        audit.append(writing.connection, entry)


def link(catalog: Catalog, child: str, inputs: Sequence[NamedInput], *, here: bytes, acting: Acting) -> Artifact:
    """Record that the artifact `child` came from each of the inputs; all or none."""
    with catalog.writing(acting.actor, acting.now) as writing:
        artifact = find_artifact(writing, child, here=here)
        link_inputs(writing, artifact, inputs, here=here, acting=acting)
    return artifact


def supersede(catalog: Catalog, old: str, new: str, *, here: bytes, acting: Acting) -> tuple[Artifact, Artifact]:
    """Record that `new` takes the place of `old`; return both."""
    with catalog.writing(acting.actor, acting.now) as writing:
        replaced, successor = find_artifact(writing, old, here=here), find_artifact(writing, new, here=here)
        _refuse_itself(replaced, successor)
        writing.supersede(replaced.artifact_id, successor.artifact_id)
        entry = acting.entry("artifact.supersede", artifact=replaced.name, evidence={"by": successor.name})
        audit.append(writing.connection, entry)
    return replaced, successor


def record_measurements(
    catalog: Catalog, word: str, metrics: Sequence[tuple[str, float]], *, source: str, here: bytes, acting: Acting
) -> Artifact:
    """Record numbers that somebody measured about the artifact, and where they came from."""
    with catalog.writing(acting.actor, acting.now) as writing:
        artifact = find_artifact(writing, word, here=here)
        for metric, value in metrics:
            writing.add_measurement(artifact.artifact_id, metric, value, source=source)
        entry = acting.entry(
            "measurement.record", artifact=artifact.name, reason=source, evidence={"metrics": dict(metrics)}
        )
        audit.append(writing.connection, entry)
        return _again(writing, artifact)


def _again(reading: Reading, artifact: Artifact) -> Artifact:
    found = reading.artifact_by_id(artifact.artifact_id)
    assert found is not None, "rows are never deleted"
    return found


def _refuse_itself(old: Artifact, new: Artifact) -> None:
    if old.artifact_id == new.artifact_id:
        raise UsageError(f"`{old.name}` cannot take its own place", remedy="name the newer artifact with --by")
