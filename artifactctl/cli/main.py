"""The entry point of `artifactctl`."""

import gc
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from artifactctl import __version__
from artifactctl.cli.failures import run_to_exit_code, silence_stdout
from artifactctl.cli.lazy_group import LazyGroup
from artifactctl.cli.shared_options import shared_options

YOUNG_OBJECTS = 50_000
"""So many new objects make the collector look for cycles. A walk makes a dozen for each file, all of them free of
cycles: looking as often as Python does by default costs it a tenth of its time."""


class Program(LazyGroup):
    """The whole command line; `main` always ends in SystemExit with a code of the one table."""

    def main(self, args: Sequence[str] | None = None, *arguments: Any, **extra: Any) -> NoReturn:
        """Run the command that `args` spell (default: those of this process)."""
        words = list(sys.argv[1:] if args is None else args)
        extra.update(standalone_mode=False, prog_name="artifactctl")
        code = run_to_exit_code(lambda: click.Group.main(self, words, **extra), arguments=words)
        sys.exit(code)


program = Program(
    name="artifactctl",
    help="Know what every training artifact is, what the next stage will need, and delete only with proof.",
    epilog="Start with `artifactctl demo`, or with `artifactctl rescue PATH` when a disk is filling up.",
    params=[*shared_options(("text", "json"))],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    no_args_is_help=True,
)
click.version_option(__version__, prog_name="artifactctl", message="%(prog)s %(version)s")(program)


def main() -> NoReturn:
    """Run `artifactctl` as a program: signals, streams, then the command."""
    gc.set_threshold(YOUNG_OBJECTS)
    signal.signal(signal.SIGTERM, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a name is never a reason to crash
    try:
        program.main()
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
