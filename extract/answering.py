"""What the stages' commands share with every command of artifactctl: --json, --catalog, answers, progress.

`artifactctl --json extract ...` and `artifactctl extract ... --json` mean the same. What was given further left is in
the context's `meta`, under the key that all commands of artifactctl use.
"""

import base64
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from artifactctl.api import Session

_META = "artifactctl.choices"
_QUIET_SECONDS = 1.0
_DRAWN_SECONDS, _LOGGED_SECONDS = 0.5, 60.0


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is None or value is False or parameter.name is None:
        return
    name, said = ("format", "json") if parameter.name == "json" else (parameter.name, value)
    context.meta.setdefault(_META, {})[name] = said


class Stage(click.Command):
    """A command with the options that every command of artifactctl has."""

    def __init__(self, name: str | None, *, params: list[click.Parameter] | None = None, **settings: Any) -> None:
        super().__init__(name, params=[*(params or ()), *_shared_options()], **settings)


def _shared_options() -> list[click.Option]:
    def option(*declarations: str, **settings: Any) -> click.Option:
        return click.Option(declarations, expose_value=False, callback=_remember, **settings)

    return [
        option("--format", type=click.Choice(["text", "json"]), help="How to print the answer (default: text)."),
        option("--json", is_flag=True, help="The same as --format json."),
        option("--catalog", metavar="PATH|URL", help="The catalog to use (also ARTIFACTCTL_CATALOG)."),
        option("--debug", is_flag=True, help="Show the traceback of an error."),
    ]


def session() -> "Session":
    """Open the catalog that the command line means."""
    from artifactctl.api import open_session

    return open_session(catalog=_choices().get("catalog"))


def answer(what: str, payload: Mapping[str, Any], text: Sequence[str]) -> None:
    """Print the answer as it was asked for; `payload` gets its schema, `artifactctl.<what>/1`."""
    if _choices().get("format") == "json":
        click.echo(json.dumps({"schema": f"artifactctl.{what}/1", **payload}, indent=2))
    else:
        for line in text:
            click.echo(line)


def warn(message: str) -> None:
    """Say something on stderr."""
    click.echo(message, err=True)


def json_path(path: str) -> dict[str, str]:
    """Return the field `path`, and `path_b64` beside it where the bytes are no UTF-8."""
    raw = path.encode("utf-8", "surrogateescape")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"path": path, "path_b64": base64.b64encode(raw).decode("ascii")}
    return {"path": path}


@contextmanager
def progress(label: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Yield `advance(amount)`: how much is done and how fast, shown as `shown_line` does."""
    done = 0

    with shown_line(lambda seconds: f"{label}: {done:,} {unit}, {done / seconds:,.0f} a second") as show:

        def advance(amount: int) -> None:
            nonlocal done
            done += amount
            show()

        yield advance


@contextmanager
def shown_line(line: Callable[[float], str]) -> Iterator[Callable[[], None]]:
    """Yield `show()`, to be called often: `line(seconds since the beginning)` appears when it is time for it.

    Drawn again on a terminal, one a minute elsewhere; silent under a second.
    """
    begun = shown = time.monotonic()
    drawn = sys.stderr.isatty()
    every = _DRAWN_SECONDS if drawn else _LOGGED_SECONDS

    def show() -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= every and now - begun >= _QUIET_SECONDS:
            shown = now
            said = line(now - begun)
            click.echo(f"\r{said}\x1b[K" if drawn else said, nl=not drawn, err=True)

    try:
        yield show
    finally:
        if drawn and shown != begun:
            click.echo("\r\x1b[K", nl=False, err=True)


def _choices() -> Mapping[str, Any]:
    said: Mapping[str, Any] = click.get_current_context().meta.get(_META, {})
    return said
