"""What is asked of the server beside the messages: the same for every record of a set."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.errors import UsageError

OURS = frozenset({"messages", "tools", "model", "stream", "stream_options", "max_tokens", "n"})
"""Fields of the request that `further` cannot set: the stage depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a set. `temperature`, `top_p` and `seed` None leave the server's own; `further` is JSON text."""

    model: str
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    further: str = "{}"

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise UsageError("the model has no name", remedy="give --model as the server calls it")
        if self.max_tokens < 1:
            raise UsageError("an answer has at least one token", remedy="give --max-tokens")

    def as_json(self) -> dict[str, Any]:
        """Return the settings as they stand in journals and manifests; what is left to the server is left out."""
        sampling = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        said = {name: value for name, value in sampling.items() if value is not None}
        further = json.loads(self.further)
        return {"model": self.model, "max_tokens": self.max_tokens, **said, **({"further": further} if further else {})}

    def body(self, messages: list[dict[str, Any]], tools: list[Any] | None) -> dict[str, Any]:
        """Return the request for one prompt."""
        said = self.as_json()
        further = said.pop("further", {})
        asked = {**further, **said, "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
        return asked | ({"tools": tools} if tools else {})


def further_fields(content: bytes, *, source: str) -> str:
    """Return the further fields of a request that a file holds, as canonical JSON; UsageError."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is no JSON", remedy='write an object, such as {"top_k": 20}') from error
    if not isinstance(fields, dict):
        raise UsageError(f"{source} is no JSON object", remedy='write an object, such as {"top_k": 20}')
    taken = sorted((OURS | {"temperature", "top_p", "seed"}) & set(fields))
    if taken:
        raise UsageError(f"{source} sets {', '.join(taken)}", remedy="those have options of their own, or are fixed")
    return json.dumps(fields, sort_keys=True, ensure_ascii=False)


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return in what two settings differ, in words."""
    names = sorted({*ours, *theirs})
    return [
        f"{name} is {_said(theirs.get(name))} there and {_said(ours.get(name))} here"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]


def _said(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
