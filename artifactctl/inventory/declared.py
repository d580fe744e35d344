"""What was found, against what was declared; nothing declared is unknown, and unknown is not complete."""

import shlex

from artifactctl.domain.artifacts import Artifact, ArtifactKind, Replica
from artifactctl.domain.text import display_path
from artifactctl.inventory.headers import Found

_CORPORA = (ArtifactKind.RESPONSE_SET, ArtifactKind.MERGED_CORPUS)


def compare_with_declared(artifact: Artifact, replica: Replica, found: Found) -> list[str]:
    """Return where tokens (of hidden states) or records (of corpora) differ, or were never declared."""
    problems = []
    path = display_path(replica.root.path + b"/" + replica.relative)
    if artifact.kind is ArtifactKind.HIDDEN_STATES:
        problems += _difference("tokens", artifact.tokens, found.tokens, path, artifact)
        if artifact.records is not None and found.records is not None:
            problems += _difference("records", artifact.records, found.records, path, artifact)
    if artifact.kind in _CORPORA:
        problems += _difference("records", artifact.records, found.records, path, artifact)
    return problems


def _difference(what: str, declared: int | None, found: int | None, path: str, artifact: Artifact) -> list[str]:
    if found is None:
        return [f"{what}: unknown, no member tells them"]
    if declared is None:
        words = ("artifactctl", "register", path, "--kind", artifact.kind.value, "--name", artifact.name)
        command = shlex.join((*words, f"--{what}", str(found)))
        return [f"{what}: unknown, nothing was declared; {found:,} were found (`{command}` declares them)"]
    if declared != found:
        return [f"{what}: {declared:,} were declared, {found:,} were found"]
    return []
