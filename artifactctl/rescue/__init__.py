"""First aid on a filling disk: who writes, when it is full, what could go, and one line to paste.

Read-only and without set-up: no catalog and no marker is needed; a catalog that is there is only read. Nothing here
decides that something may be removed: the line it prints asks `reclaim` or `quarantine purge`, which prove it.

- `searching` folds one walk into finds, `watching` runs it against the clock while the writers are measured;
- `checkpoint_runs`, `siblings`, `judging`, `rates`, `choosing` and `pasting` are pure: facts in, answer out;
- what a walk did not reach is said, and what only a guess speaks for is called one.
"""
