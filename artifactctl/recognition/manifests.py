"""The manifest that artifactctl's own stages write last, beside what they wrote.

`manifest.json`: {"schema": "artifactctl.manifest/1", "kind": KIND, "tokens": N or null, "records": N or null,
"members": [{"path": RELATIVE, "size_bytes": N}, ...]}. Paths are UTF-8 with surrogate escapes. Only what is listed, and
the manifest itself, belongs to the artifact.
"""

from dataclasses import dataclass
from typing import Any

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.seen import Read
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView, parse_json_object

MANIFEST_NAME = b"manifest.json"
MANIFEST_SCHEMA = "artifactctl.manifest/1"
LARGEST_MANIFEST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A parsed manifest; `sizes` maps members, relative to the artifact, to their bytes."""

    kind: ArtifactKind
    tokens: int | None
    records: int | None
    sizes: dict[bytes, int]


def read_manifest(read: Read, relative: bytes, size_bytes: int) -> Manifest | None:
    """Return the manifest at `relative`; None when the file is no manifest of ours."""
    if size_bytes > LARGEST_MANIFEST_BYTES:
        return None
    content = parse_json_object(read, relative, size_bytes)
    if content is None or content.get("schema") != MANIFEST_SCHEMA:
        return None
    try:
        return Manifest(
            kind=ArtifactKind(content["kind"]),
            tokens=_count(content.get("tokens")),
            records=_count(content.get("records")),
            sizes={_path(member): int(member["size_bytes"]) for member in content["members"]},
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def _count(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("counts are whole numbers from zero up")
    return value


def _path(member: dict[str, Any]) -> bytes:
    path: str = member["path"]
    return path.encode("utf-8", "surrogateescape")


def manifested(view: FolderView) -> Sighting | None:
    """Recognise a folder by its manifest."""
    if MANIFEST_NAME not in view.files:
        return None
    manifest = read_manifest(view.read, view.path(MANIFEST_NAME), view.files[MANIFEST_NAME])
    if manifest is None:
        return None
    return Sighting(
        kind=manifest.kind,
        relative=view.relative,
        is_directory=True,
        layout=Layout.MANIFEST,
        tokens=manifest.tokens,
        records=manifest.records,
    )
