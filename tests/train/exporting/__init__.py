"""Exporting drafts: the layout, its checker, and the command."""
