"""Shards of hidden states: written, read, torn, converted."""
