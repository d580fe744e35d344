"""What `--help` costs against `import click`, the least it can do: `python -m tests.benchmarks.starting`."""

import sys

from tests.benchmarks.turns import command, compare, python

ROUNDS = 15


def main() -> None:
    """Measure a short help, a long one, and a command that asks the machine."""
    click = python("import click", "import click")
    for words in (("--help",), ("plan", "--help"), ("df",)):
        ours = command(" ".join(("artifactctl", *words)), sys.executable, "-m", "artifactctl", *words)
        compare(ours, click, rounds=ROUNDS)


if __name__ == "__main__":
    main()
