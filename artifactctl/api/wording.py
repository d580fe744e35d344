"""Figures as every command of artifactctl prints them."""

from artifactctl.report.sizes import counted, format_bytes, format_duration, format_rate, format_tokens

__all__ = ["counted", "format_bytes", "format_duration", "format_rate", "format_tokens"]
