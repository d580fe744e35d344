"""From the options of `register` to the statement a person makes about an artifact."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import UsageError

if TYPE_CHECKING:
    from artifactctl.inventory.registering import Statement


def statement_of(
    *,
    kind: str | None,
    name: str | None,
    inputs: Sequence[str],
    labels: Sequence[str],
    facts: Mapping[str, Any],
) -> "Statement":
    """Return the statement; UsageError for a label that is no KEY=VALUE."""
    from artifactctl.inventory.registering import Statement

    return Statement(
        kind=ArtifactKind(kind) if kind is not None else None,
        name=name or "",
        inputs=tuple(inputs),
        labels=dict(_label(text) for text in labels),
        **facts,
    )


def _label(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UsageError(f"`{text}` is no label", remedy="write --label KEY=VALUE")
    return key.strip(), value
