"""Findings in policy files as lines, as JSON, and as annotations that GitHub shows beside the line."""

from collections.abc import Iterator, Sequence
from typing import Any

from artifactctl.policy.findings import Finding, Level
from artifactctl.report.sizes import counted


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return `FILE:LINE:COLUMN: CODE message` for each."""
    return [str(item) for item in findings]


def lint_payload(findings: Sequence[Finding], files: Sequence[str]) -> dict[str, Any]:
    """Return the answer of `policy lint` for scripts."""
    return {
        "ok": not errors_among(findings),
        "files": list(files),
        "findings": [
            {
                "code": item.code.value,
                "level": item.level.value,
                "file": item.place.file,
                "line": item.place.line,
                "column": item.place.column,
                "message": item.message,
            }
            for item in findings
        ],
    }


def lint_summary(findings: Sequence[Finding], files: Sequence[str]) -> str:
    """Return `2 policy files: 1 error, 3 warnings`."""
    errors = errors_among(findings)
    warnings = len(findings) - errors
    return f"{counted(len(files), 'policy file')}: {counted(errors, 'error')}, {counted(warnings, 'warning')}"


def errors_among(findings: Sequence[Finding]) -> int:
    """Return how many of the findings make a file unusable."""
    return sum(item.level is Level.ERROR for item in findings)


def github_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield one workflow command for each finding."""
    for item in findings:
        where = f"file={_property(item.place.file)},line={item.place.line},col={item.place.column}"
        yield f"::{item.level.value} {where},title={item.code.value}::{_data(item.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
