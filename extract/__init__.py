"""Comes with a later release."""
