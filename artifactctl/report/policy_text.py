"""The effective policy as YAML that is itself a policy file, and as JSON with numbers for numbers."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from artifactctl.policy.ruleset import Limits, Policy
from artifactctl.policy.spelling import duration_text, size_text
from artifactctl.policy.written_form import written_form
from artifactctl.report.sizes import format_bytes_both

_WIDEST = 1 << 16
_COMMENT_COLUMN = 34


def policy_yaml(policy: Policy, *, written: Policy, files: Sequence[str]) -> str:
    """Return the policy as a file would say it; comments give its digest, decimal sizes and what was tightened.

    `written` is what the files alone mean.
    """
    form = _commented(written_form(policy))
    for section, comments in (("limits", _size_comments(policy.limits)), ("defaults", {})):
        for key in form[section]:
            notes = [comments.get(key, ""), _tightening(key, policy, written)]
            if any(notes):
                form[section].yaml_add_eol_comment("; ".join(filter(None, notes)), key, column=_COMMENT_COLUMN)
    yaml = YAML(typ="rt", pure=True)
    yaml.width = _WIDEST
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(form, stream)
    return f"# {', '.join(files)}\n# digest {policy.digest}\n{stream.getvalue()}".rstrip("\n")


def policy_payload(policy: Policy, *, written: Policy, files: Sequence[str]) -> dict[str, Any]:
    """Return the answer of `policy show` for scripts: durations in seconds, sizes in bytes."""
    return {
        "files": list(files),
        "digest": policy.digest,
        "policy": _plain(policy),
        "tightened": {
            name: {"policy_file": _number(before), "in_force": _number(after)}
            for name, before, after in _changes(policy, written)
        },
    }


def _changes(policy: Policy, written: Policy) -> list[tuple[str, Any, Any]]:
    """Return (name of the field, as the files say, as it holds) of what the configuration made stricter."""
    pairs = [
        ("max_bytes", written.limits.max_bytes, policy.limits.max_bytes),
        ("max_artifacts", written.limits.max_artifacts, policy.limits.max_artifacts),
        ("quarantine_seconds", written.grace, policy.grace),
        ("quiet_time_seconds", written.quiet_time, policy.quiet_time),
    ]
    return [(name, before, after) for name, before, after in pairs if before != after]


def _tightening(key: str, policy: Policy, written: Policy) -> str:
    for name, before, _ in _changes(policy, written):
        if name.removesuffix("_seconds") == key:
            said = duration_text(before) if isinstance(before, timedelta) else before
            said = size_text(before) if key == "max_bytes" else said
            return f"tightened by configuration from {said}"
    return ""


def _size_comments(limits: Limits) -> Mapping[str, str]:
    sizes = {"max_bytes": limits.max_bytes, "approval_above": limits.approval_above_bytes}
    return {key: format_bytes_both(size) for key, size in sizes.items() if size is not None}


def _commented(value: Any) -> Any:
    """Return plain data as ruamel's own containers; what holds no further mapping goes on one line."""
    if isinstance(value, Mapping):
        mapping = CommentedMap((key, _commented(item)) for key, item in value.items())
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_commented(item) for item in value)
        if not any(isinstance(item, Mapping) for item in value):
            sequence.fa.set_flow_style()
        return sequence
    return value


def _number(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "place"}
        return {
            f"{name}_seconds" if isinstance(item, timedelta) else name: _plain(item) for name, item in named.items()
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else _number(value)
