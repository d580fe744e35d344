"""Benchmarks, run by hand: `python -m tests.benchmarks.NAME`; each module says what it takes.

Every figure stands beside a yardstick that ran in turns with it, since a machine's own speed drifts: the ratio is what
to compare. They print and assert nothing; CPU seconds are user and system together.
"""
