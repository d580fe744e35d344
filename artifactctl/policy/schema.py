"""The JSON Schema of policy files, for editors and for tools that know nothing of artifactctl."""

import json
from collections.abc import Mapping
from typing import Any

from artifactctl.policy.language import PolicyDocument

Path = tuple[str | int, ...]


def policy_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); an optional key may be left out, but never be empty."""
    schema = PolicyDocument.model_json_schema(by_alias=True)
    plain: dict[str, Any] = _without_null(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **plain}


def schema_text() -> str:
    """Return the schema as it is printed, committed and shipped."""
    return json.dumps(policy_schema(), indent=2)


def keys_at(schema: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Return the keys that the mapping at `path` may have, () where it is no mapping with fixed keys."""
    here: Mapping[str, Any] = _resolved(schema, schema)
    for step in path:
        if isinstance(step, int):
            here = here.get("items", {})
        else:
            here = here.get("properties", {}).get(step) or here.get("additionalProperties") or {}
        here = _resolved(schema, here if isinstance(here, Mapping) else {})
    return tuple(here.get("properties", {}))


def _resolved(schema: Mapping[str, Any], here: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = here.get("$ref", "")
    found: Mapping[str, Any] = schema["$defs"][reference.rsplit("/", 1)[-1]] if reference else here
    return found


def _without_null(value: Any) -> Any:
    """Return the schema with every "or null", every null default and every made-up title gone."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _without_null(item) for key, item in value.items() if not _says_nothing(key, item)}
    choices = plain.get("anyOf")
    if isinstance(choices, list):
        left = plain["anyOf"] = [choice for choice in choices if choice != {"type": "null"}]
        if len(left) == 1:
            del plain["anyOf"]
            plain = {**left[0], **plain}
    return plain


def _says_nothing(key: str, item: object) -> bool:
    return (key == "default" and item is None) or (key == "title" and isinstance(item, str))
