"""Finds as values, for the pure half."""

from datetime import UTC, datetime, timedelta
from typing import Any

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.sightings import Layout
from artifactctl.rescue.finds import Find, Findings
from artifactctl.rescue.judging import Judge, Judgement
from artifactctl.rescue.knowledge import Knowledge

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TOP = b"/data"


def a_find(relative: bytes, *, hours_old: float = 24.0, **changes: Any) -> Find:
    at = NOW - timedelta(hours=hours_old)
    values: dict[str, Any] = {
        "relative": relative,
        "kind": ArtifactKind.HIDDEN_STATES,
        "layout": Layout.SAFETENSORS,
        "is_directory": True,
        "allocated_bytes": 1000,
        "freed_bytes": 1000,
        "files": 2,
        "modified_at": at,
        "changed_at": at,
    }
    return Find(**{**values, **changes})


def a_checkpoint(relative: bytes, step: int, **changes: Any) -> Find:
    values: dict[str, Any] = {
        "kind": ArtifactKind.CHECKPOINT,
        "layout": Layout.HUGGING_FACE,
        "metrics": (("step", float(step)),),
    }
    return a_find(relative, **{**values, **changes})


def judged(*finds: Find, knowledge: Knowledge | None = None, **parts: Any) -> Judgement:
    values: dict[str, Any] = {
        "leftovers": (),
        "torn": (),
        "pointers": (),
        "roots": (),
        "unclaimed": (),
        "entries": 10,
        "seen_bytes": 10_000,
        "complete": True,
    }
    findings = Findings(finds=finds, **{**values, **parts})
    return Judge(top=TOP, findings=findings, knowledge=knowledge or Knowledge(), began_at=NOW, now=NOW).judge()


def offered(judgement: Judgement) -> list[bytes]:
    """Return the paths of the candidates in their order, relative to the top."""
    return [candidate.path.removeprefix(TOP + b"/") for candidate in judgement.candidates]


def reason(judgement: Judgement, relative: bytes) -> str:
    """Return why something is offered or stays."""
    for item in (*judgement.candidates, *judgement.kept):
        if item.path == TOP + b"/" + relative:
            return item.why
    raise AssertionError(f"{relative!r} is neither offered nor kept")
