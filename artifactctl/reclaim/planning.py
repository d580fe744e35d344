"""Deciding what to remove: a pure function of catalog, observations and policy."""
