"""An exported catalog, read again: policies see the same, and what is not such a file is refused in one sentence."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard

from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, RunState, VerifyLevel
from artifactctl.domain.errors import ExitCode, UsageError
from artifactctl.inventory.snapshots import open_snapshot
from artifactctl.policy.facts import Facts
from artifactctl.policy.scope import Wanted
from artifactctl.report.catalog_export import export_pieces
from tests.bench.databases import ON_SQLITE
from tests.builders import NOON

Place = Callable[..., Artifact]
Write = Callable[[], AbstractContextManager[Writing]]


@pytest.fixture
def world(catalog: Catalog, place: Place, write: Write) -> Catalog:
    """A catalog with one of everything that policies look at."""
    corpus, states = place("corpus", kind=ArtifactKind.MERGED_CORPUS), place("states")
    newer, odd = place("newer", relative=b"n\xe4wer"), place("öd")
    draft = place("draft", kind=ArtifactKind.CHECKPOINT)
    place("was", state=ReplicaState.GONE)
    with write() as writing:
        writing.add_artifact("was", ArtifactKind.OTHER, labels={"tags": "released"})
        writing.update_artifact(odd.artifact_id, labels={"team": "x"}, details={"step": "3"}, sealed=False)
        writing.add_lineage(states.artifact_id, corpus.artifact_id, LineageRole.EXTRACTED_FROM)
        writing.add_lineage(draft.artifact_id, states.artifact_id, LineageRole.TRAINED_ON)
        writing.supersede(states.artifact_id, newer.artifact_id)
        writing.set_verified(newer.replicas[0].replica_id, VerifyLevel.HEADERS, "print-1", ok=True)
        writing.place_hold(corpus.artifact_id, reason="mine")
        writing.grant_lease(draft.artifact_id, owner="ada", host="here", expires_at=NOON + timedelta(hours=1))
        writing.add_run("extraction", inputs=[corpus.artifact_id], outputs=[states.artifact_id])
        writing.add_run("training", state=RunState.FAILED, outputs=[draft.artifact_id])
        writing.add_measurement(draft.artifact_id, "eval/x", 1.0, measured_at=NOON - timedelta(hours=1))
        writing.add_measurement(draft.artifact_id, "eval/x", 2.5)
    return catalog


def exported(catalog: Catalog) -> str:
    with catalog.reading() as reading:
        return "".join(export_pieces(reading, now=NOON, with_members=True))


def seen_in(file: Path) -> dict[str, Facts]:
    with open_snapshot(bytes(file)) as snapshot:
        assert snapshot.exported_at == NOON
        return {each.name: each for each in snapshot.reading.policy_facts((Wanted(),), now=snapshot.exported_at)}


@pytest.mark.parametrize("layout", ["as written", "indented", "on one line", "compressed", "in two frames"])
def test_policies_see_the_same_in_an_export_as_in_the_catalog(world: Catalog, tmp_path: Path, layout: str) -> None:
    text = exported(world)
    file = tmp_path / "snapshot"
    packed = zstandard.ZstdCompressor()
    written = {
        "as written": lambda: text.encode(),
        "indented": lambda: json.dumps(json.loads(text), indent=4, sort_keys=True).encode(),
        "on one line": lambda: json.dumps(json.loads(text), separators=(",", ":")).encode(),
        "compressed": lambda: packed.compress(text.encode()),
        "in two frames": lambda: packed.compress(text.encode()[:700]) + packed.compress(text.encode()[700:]),
    }
    file.write_bytes(written[layout]())
    with world.reading() as reading:
        before = {each.name: each for each in reading.policy_facts((Wanted(),), now=NOON)}

    assert seen_in(file) == before
    assert before["states"].successor_verified
    assert before["states"].rebuildable


def test_a_copy_in_a_forgotten_root_is_nobody_s_in_an_export_too(world: Catalog, write: Write, tmp_path: Path) -> None:
    with write() as writing:
        writing.forget_root("root-1")
    (tmp_path / "snapshot").write_text(exported(world))

    assert seen_in(tmp_path / "snapshot") == {}


def change(document: dict[str, Any], *path: Any, to: Any) -> None:
    for key in path[:-1]:
        document = document[key]
    if to is None:
        del document[path[-1]]
    else:
        document[path[-1]] = to


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("schema",), None, "it is no catalog export"),
        (("schema",), "artifactctl.ls/1", "it is a document of another kind (artifactctl.ls/1)"),
        (("schema",), "artifactctl.catalog-export/2", "another kind (artifactctl.catalog-export/2)"),
        (("exported_at",), "yesterday", "its head cannot be read"),
        (("exported_at",), "2026-11-30T12:00:00", "exported_at has no time zone"),
        (("holds",), None, "it has no holds"),
        (("artifacts",), "many", "it has no artifacts"),
        (("artifacts", 0, "kind"), "pickle", "record 1 of its artifacts cannot be read: 'pickle' is not a valid"),
        (("artifacts", 1, "created_at"), None, "record 2 of its artifacts has no 'created_at'"),
        (("artifacts", 0, "artifact"), 4711, "refers to a"),
        (("artifacts", 0, "artifact"), 1.5, "1.5 is not a whole number"),
        (("artifacts", 0, "artifact"), 10**30, "contradict each other"),
        (("artifacts", 0), "corpus", "record 1 of its artifacts cannot be read"),
        (("replicas", 0, "artifact"), 4711, "a record of replica refers to a artifact that it does not hold"),
        (("replicas", 0, "relative_b64"), "=", "record 1 of its replicas cannot be read"),
        (("lineage",), [], "its lineage does not say what supersedes artifact"),
        (("leases", 0, "artifact"), "draft", "'draft' is not a whole number"),
        (("measurements", 0, "value"), "high", "record 1 of its measurements cannot be read"),
    ],
)
def test_an_export_that_was_tampered_with_is_refused(
    world: Catalog, tmp_path: Path, path: tuple[Any, ...], value: Any, reason: str
) -> None:
    document = json.loads(exported(world))
    change(document, *path, to=value)
    file = tmp_path / "snapshot"
    file.write_text(json.dumps(document))

    with pytest.raises(UsageError) as caught, open_snapshot(bytes(file)):
        pass

    assert caught.value.message.startswith(f"the snapshot {file} cannot be used: ")
    assert reason in caught.value.message
    assert caught.value.exit_code is ExitCode.USAGE
    assert "artifactctl catalog export" in caught.value.remedy


@ON_SQLITE
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda _: b"", "it ends too early"),
        (lambda data: data[: len(data) // 2], "it ends too early"),
        (lambda data: data + b"{}", "it is not JSON at character"),
        (lambda data: b"[" + data + b"]", "it is not JSON at character 1"),
        (lambda data: data.replace(b'"lineage": [', b'"lineage" [', 1), "it is not JSON at character"),
        (lambda _: b"PK\x03\x04\xff\xfe", "it is not"),
        (lambda _: b"\xff\xfe{}", "it is not UTF-8 text"),
        (lambda data: data.replace(b": 2.5,", b": NaN,"), "NaN is no number"),
        (lambda _: b'{"a": ' + b"[" * 100_000, "it is not JSON at character"),
        (lambda data: zstandard.ZstdCompressor().compress(data)[:-40], "it ends too early"),
        (lambda _: zstandard.FRAME_HEADER + b"\xff" * 40, "its compression is damaged"),
        (lambda _: b"{}", "it is no catalog export"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused(
    world: Catalog, tmp_path: Path, spoil: Callable[[bytes], bytes], reason: str
) -> None:
    file = tmp_path / "snapshot"
    file.write_bytes(spoil(exported(world).encode()))

    with pytest.raises(UsageError, match=reason), open_snapshot(bytes(file)):
        pass


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="nothing cannot be read: No such file"),
        open_snapshot(bytes(tmp_path / "nothing")),
    ):
        pass
