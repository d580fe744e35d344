"""Figures as every command of artifactctl prints them."""

from artifactctl.domain.text import shell_word
from artifactctl.report.instants import format_instant
from artifactctl.report.sizes import counted, format_bytes, format_duration, format_rate, format_tokens

__all__ = [
    "counted",
    "format_bytes",
    "format_duration",
    "format_instant",
    "format_rate",
    "format_tokens",
    "shell_word",
]
