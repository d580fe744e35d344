"""The manifest of a packed dump: written last, so that what has one is complete."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from artifactctl.api.formats import MANIFEST_NAME, MANIFEST_SCHEMA, Codec
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import CheckFailed
from extract.shards.aside import AsideFile
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.shards.writer import ShardPlan, WrittenShard

NAME = os.fsdecode(MANIFEST_NAME)


class BrokenManifest(CheckFailed):
    """There is no manifest, or it is none of a packed dump."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A record that was not written, by its number, and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedShard:
    """A shard as the manifest lists it; `name` is relative to the folder."""

    name: str
    size_bytes: int
    records: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedManifest:
    """What a packed dump consists of, what its run was made of, and which records it lacks.

    `made_with` are facts that decide nothing and explain much: versions of libraries, ids of layers as they were sent.
    """

    plan: ShardPlan
    shards: tuple[ListedShard, ...]
    rejected: tuple[Rejected, ...] = ()
    made_with: Mapping[str, str] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Records in all shards."""
        return sum(shard.records for shard in self.shards)

    @property
    def tokens(self) -> int:
        """Tokens in all shards."""
        return sum(shard.tokens for shard in self.shards)


def listed(shard: WrittenShard) -> ListedShard:
    """Return a shard as it is listed."""
    return ListedShard(name=shard.path.name, size_bytes=shard.size_bytes, records=shard.records, tokens=shard.tokens)


def write_manifest(folder: Path, manifest: PackedManifest) -> int:
    """Write the manifest aside, durably, and give it its name; return its bytes."""
    content = json.dumps(_as_json(manifest), indent=1).encode() + b"\n"
    file = AsideFile(folder / NAME, len(content))
    file.write(0, (content,))
    file.publish(len(content))
    return len(content)


def read_packed_manifest(folder: Path) -> PackedManifest:
    """Return the manifest in the folder; BrokenManifest when there is none of ours."""
    try:
        content = json.loads((folder / NAME).read_bytes())
        if content["schema"] != MANIFEST_SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}")
        return _of_json(content)
    except FileNotFoundError as error:
        raise BrokenManifest(
            f"{folder} has no {NAME}: whoever writes it has not finished", remedy="run the same command again"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrokenManifest(f"{folder / NAME} is no manifest of shards: {error}", remedy="check the path") from error


def _as_json(manifest: PackedManifest) -> dict[str, object]:
    plan = manifest.plan
    return {
        "schema": MANIFEST_SCHEMA,
        "kind": ArtifactKind.HIDDEN_STATES.value,
        "tokens": manifest.tokens,
        "records": manifest.records,
        "codec": plan.codec.value,
        "states": plan.form.as_json(),
        "run": plan.fingerprint.as_json(),
        "run_digest": plan.fingerprint.digest,
        "made_with": dict(manifest.made_with),
        "rejected": [{"index": each.index, "reason": each.reason} for each in manifest.rejected],
        "members": [
            {"path": each.name, "size_bytes": each.size_bytes, "records": each.records, "tokens": each.tokens}
            for each in manifest.shards
        ],
    }


def _of_json(content: dict[str, Any]) -> PackedManifest:
    plan = ShardPlan(
        form=StatesForm.of_json(content["states"]),
        fingerprint=RunFingerprint.of_json(content["run"]),
        codec=Codec(content["codec"]),
    )
    return PackedManifest(
        plan=plan,
        shards=_shards(content["members"]),
        rejected=tuple(Rejected(index=int(each["index"]), reason=str(each["reason"])) for each in content["rejected"]),
        made_with={str(name): str(said) for name, said in content.get("made_with", {}).items()},
    )


def _shards(members: Sequence[dict[str, Any]]) -> tuple[ListedShard, ...]:
    shards = tuple(
        ListedShard(
            name=str(each["path"]),
            size_bytes=int(each["size_bytes"]),
            records=int(each["records"]),
            tokens=int(each["tokens"]),
        )
        for each in members
    )
    if any("/" in shard.name for shard in shards):
        raise ValueError("a shard lies elsewhere")
    return shards
