"""Deliberate breaks of the program, each of which some test must notice.

`breaks.toml` has them as data: a file, a text that stands in it once, what takes its place, and the tests that must
fail then. `python -m tests.mutants [NAME ...]` tries each in a copy of the checkout and says which survived.
"""
