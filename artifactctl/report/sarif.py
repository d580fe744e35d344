"""Findings as SARIF 2.1.0, which code-scanning services read."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from artifactctl import __version__
from artifactctl.policy.findings import Code, Finding

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_log(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a log with one run; its rules are the whole lint catalogue, whatever was found."""
    return {
        "$schema": SARIF_SCHEMA,
        "version": SARIF_VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "artifactctl policy lint",
                        "version": __version__,
                        "rules": [_rule(code) for code in Code],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(item) for item in findings],
            }
        ],
    }


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": code.value,
        "shortDescription": {"text": code.meaning},
        "defaultConfiguration": {"level": code.level.value},
    }


def _result(item: Finding) -> dict[str, Any]:
    return {
        "ruleId": item.code.value,
        "ruleIndex": list(Code).index(item.code),
        "level": item.level.value,
        "message": {"text": item.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(item.place.file)},
                    "region": {"startLine": item.place.line, "startColumn": item.place.column},
                }
            }
        ],
    }


def _uri(file: str) -> str:
    """Return a relative reference, or a `file:` URI where the file was named by its whole path."""
    return f"file://{quote(file)}" if file.startswith("/") else quote(file)
