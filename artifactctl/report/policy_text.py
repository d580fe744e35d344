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
    """Return the policy as a file would say it; comments give its digest, sizes both ways and what was configured.

    `written` is what the files alone mean.
    """
    form = _commented(written_form(policy))
    limits = form["limits"]
    for section, remarks in (
        (form["defaults"], _configured(policy, written)),
        (limits, _both(_sizes(policy.limits), _configured(policy, written))),
        (limits.get("per_day", {}), _sizes_per_day(policy.limits)),
    ):
        for key in section.keys() & remarks.keys():
            section.yaml_add_eol_comment(remarks[key], key, column=_COMMENT_COLUMN)
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
        "configured": {
            name: {"policy_file": _number(before), "in_force": _number(after)}
            for name, before, after in _changes(policy, written)
        },
    }


def _changes(policy: Policy, written: Policy) -> list[tuple[str, Any, Any]]:
    """Return (name of the field, as the files say, as it holds) of what the configuration changes."""
    pairs = [
        ("max_bytes", written.limits.max_bytes, policy.limits.max_bytes),
        ("max_artifacts", written.limits.max_artifacts, policy.limits.max_artifacts),
        ("quarantine_seconds", written.grace, policy.grace),
        ("quiet_time_seconds", written.quiet_time, policy.quiet_time),
    ]
    return [(name, before, after) for name, before, after in pairs if before != after]


def _configured(policy: Policy, written: Policy) -> Mapping[str, str]:
    """Return by key of `defaults` or `limits` what the files say where the configuration says otherwise."""
    remarks = {}
    for name, before, _ in _changes(policy, written):
        said = duration_text(before) if isinstance(before, timedelta) else before
        key = name.removesuffix("_seconds")
        remarks[key] = f"configured; the policy file says {size_text(before) if key == 'max_bytes' else said}"
    return remarks


def _sizes(limits: Limits) -> Mapping[str, str]:
    return _spelt({"max_bytes": limits.max_bytes, "approval_above": limits.approval_above_bytes})


def _sizes_per_day(limits: Limits) -> Mapping[str, str]:
    return _spelt({"max_bytes": limits.max_bytes_per_day})


def _spelt(sizes: Mapping[str, int | None]) -> Mapping[str, str]:
    return {key: format_bytes_both(size_bytes) for key, size_bytes in sizes.items() if size_bytes is not None}


def _both(first: Mapping[str, str], second: Mapping[str, str]) -> Mapping[str, str]:
    return {key: "; ".join(filter(None, (first.get(key), second.get(key)))) for key in first.keys() | second.keys()}


def _commented(value: Any) -> Any:
    """Return plain data as ruamel's own containers; what holds no further mapping goes on one line."""
    if isinstance(value, Mapping):
        return CommentedMap((key, _commented(item)) for key, item in value.items())
    if isinstance(value, list):
        sequence = CommentedSeq(_commented(item) for item in value)
        if not any(isinstance(item, Mapping) for item in value):
            sequence.fa.set_flow_style()
        return sequence
    return value


def _number(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _plain(value: Any) -> Any:
    """Return a value of the rule set for JSON; a condition that asks nothing is left out, a limit never."""
    if is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "place"}
        silent = () if isinstance(value, Limits) else (None, "", ())
        return {
            f"{name}_seconds" if isinstance(item, timedelta) else name: _plain(item)
            for name, item in named.items()
            if item not in silent
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else _number(value)
