"""The kill matrix: SIGKILL before every changing system call of every command that changes something, then recovery.

`acts` is the table of commands, `killing` the engine, `evidence` what must hold afterwards, `figures` the count of
points, `page` the section of tests/README.md made of it. `python -m tests.proof` runs the whole matrix (`make prove`).
"""
