"""Roots, scans and verifications, for people and for scripts."""

from collections.abc import Mapping, Sequence
from typing import Any

from artifactctl.domain.artifacts import Artifact, Root
from artifactctl.domain.attestation import Attestation, in_words
from artifactctl.domain.text import shown_path
from artifactctl.report.json_values import json_path
from artifactctl.report.tables import Table, columns


def root_table(roots: Sequence[Root], *, elsewhere: Mapping[int, str]) -> Table:
    """Return the table of `root ls`; `elsewhere` are the names of other machines by their number."""
    rows = [
        (root.name, shown_path(elsewhere.get(root.host_id, ""), root.path), root.filesystem_type, _shared_with(root))
        for root in roots
    ]
    return Table(
        columns=columns("name", "path", "filesystem", "shared with"),
        rows=tuple(rows),
        empty="No folder is managed yet: `artifactctl root add PATH`.",
    )


def _shared_with(root: Root) -> str:
    return in_words(Attestation.from_text(root.attestation))


def root_payload(root: Root, *, host: str = "") -> dict[str, Any]:
    """Return one root for scripts, with its machine where that is known."""
    return {
        "root_id": root.root_id,
        "name": root.name,
        **({"host": host} if host else {}),
        **json_path(root.path),
        "filesystem_uuid": root.filesystem_uuid,
        "filesystem_type": root.filesystem_type,
        "attestation": root.attestation,
    }


def forgotten_payload(root: Root, last_copies: Mapping[str, int]) -> dict[str, Any]:
    """Return a root that was forgotten, with what had its last verified copy there and how much that takes."""
    told = [{"name": name, "allocated_bytes": size} for name, size in last_copies.items()]
    return {**root_payload(root), "last_copies": told}


def registered_payload(artifact: Artifact, *, name_before: str) -> dict[str, Any]:
    """Return what was registered for scripts, with its former name where it has another one now."""
    renamed = {"name_before": name_before} if name_before not in ("", artifact.name) else {}
    return {"name": artifact.name, "kind": artifact.kind.value, **renamed}


def registered_line(artifact: Artifact, *, name_before: str) -> str:
    """Return one sentence about what was registered, and what it was called until now."""
    renamed = f"; it was called {name_before} until now" if name_before not in ("", artifact.name) else ""
    return f"{artifact.name} is registered as {artifact.kind.value}{renamed}"
