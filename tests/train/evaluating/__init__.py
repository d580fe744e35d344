"""Evaluating drafts: choosing, decoding, measuring, and the command."""
