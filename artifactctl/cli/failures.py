"""The one place where an error becomes `error: …`, `hint: …` and an exit code."""

import os
import sys
from collections.abc import Callable, Sequence

import click

from artifactctl.domain.errors import ArtifactctlError, ExitCode


def run_to_exit_code(program: Callable[[], object], *, arguments: Sequence[str]) -> int:
    """Run the program and return the code to exit with; whatever it raises is told on stderr.

    A command ends with another code than 0 by raising SystemExit or by returning an `ExitCode`.
    """
    try:
        result = program()
    except ArtifactctlError as error:
        tell(*(f"error: {_printable(message)}" for message in (error.message, *error.further)))
        tell(f"hint: {_printable(error.remedy)}" if error.remedy else "")
        code = int(error.exit_code)
        return _with_traceback(code, arguments)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        return _tell_usage(error)
    except (click.Abort, KeyboardInterrupt):
        tell("error: interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return ExitCode.DONE
    except Exception as error:  # noqa: BLE001 - the last stop: whatever it is, it is told and ends with code 1
        tell(
            f"error: unexpected: {type(error).__name__}: {_printable(str(error))}",
            "hint: this is a defect; run the command again with --debug for the traceback to report",
        )
        return _with_traceback(ExitCode.UNEXPECTED, arguments)
    return int(result) if isinstance(result, int) else ExitCode.DONE


def tell(*lines: str) -> None:
    """Write lines to stderr, whatever bytes are in them and whoever still reads it."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    for line in filter(None, lines):
        safe = line.encode(encoding, "backslashreplace").decode(encoding)
        try:
            print(safe, file=sys.stderr, flush=True)
        except BrokenPipeError:
            return


def silence_stdout() -> None:
    """Send further output nowhere: the reader of the pipe has gone, which is not an error of the work done."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _tell_usage(error: click.ClickException) -> int:
    hint = ""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    if context is not None:
        hint = f"hint: `{context.command_path} --help` shows how it is used"
    tell(f"error: {_printable(' '.join(_sentence(error.format_message()).split()))}", hint)
    return ExitCode.USAGE


def _printable(text: str) -> str:
    """Return the text in one line: the names in it may hold anything, and nothing of that reaches a terminal."""
    from artifactctl.domain.text import printable

    return printable(text)


def _sentence(message: str) -> str:
    """Return click's message in the house's form: no capital at the start, no full stop at the end."""
    message = message.strip()
    if not message:
        return "the command cannot be used like this"
    lowered = message if message[:2].isupper() else message[0].lower() + message[1:]
    return lowered[:-1] if lowered.endswith(".") else lowered


def _with_traceback(code: int, arguments: Sequence[str]) -> int:
    """Print the traceback of the error in hand when `--debug` was given; return `code`."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--debug" in own or os.environ.get("ARTIFACTCTL_DEBUG"):
        import traceback

        tell(traceback.format_exc().rstrip())
    return code
