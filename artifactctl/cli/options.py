"""How words of the command line become values: sizes, durations, tokens, layers, instants, names and paths."""

import os
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from artifactctl.domain.errors import UsageError
from artifactctl.domain.places import split_host
from artifactctl.domain.text import display_path

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic for type checkers only in the oldest click that is supported

MAX_NAME_CHARACTERS = 255


class Quantity(_ParamType):
    """A value with a unit, read by one of the functions of `artifactctl.domain.quantities`."""

    def __init__(self, name: str, parser: str) -> None:
        self.name = name
        self._parser = parser

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the parsed value; text without a unit, or with an ambiguous one, is an error that says so."""
        if not isinstance(value, str):
            return value
        from artifactctl.domain import quantities

        parse: Callable[[str], Any] = getattr(quantities, self._parser)
        try:
            return parse(value)
        except UsageError as error:
            raise _at(param, error) from error


SIZE = Quantity("size", "parse_size")
DURATION = Quantity("duration", "parse_duration")
RATE = Quantity("rate", "parse_rate")
TOKENS = Quantity("tokens", "parse_tokens")
PARAMETERS = Quantity("count", "parse_parameters")
LAYERS = Quantity("layers", "parse_layers")


class Name(_ParamType):
    """A name for something new: 1 to 255 characters, no control characters, no `:`, no `-` in front."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name when it can be one."""
        problem = name_problem(value)
        if problem:
            self.fail(problem, param, ctx)
        return str(value)


class ArtifactName(_ParamType):
    """The name or the path of an artifact the catalog knows; completes names."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word; whether the catalog knows it is found out later."""
        if not value:
            self.fail("an empty name is none", param, ctx)
        if not _without_control_characters(value) and not _can_be_a_path(value):
            self.fail(f"{value!r} holds a control character; `artifactctl ls` shows the catalogued name", param, ctx)
        problem = climbing_problem(value)
        if problem:
            self.fail(problem, param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the catalogued names that begin with what is typed; none when there is no catalog to ask."""
        from artifactctl.cli.completing import names_beginning_with

        return [CompletionItem(name) for name in names_beginning_with(ctx, incomplete)]


class HostName(_ParamType):
    """The name of a machine the catalog knows; completes names."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the known machines that begin with what is typed; none when there is no catalog to ask."""
        from artifactctl.cli.completing import hosts_beginning_with

        return [CompletionItem(name) for name in hosts_beginning_with(ctx, incomplete)]


class BytesPath(_ParamType):
    """A path as the bytes the shell handed over, made absolute but not resolved: links are for the guards to judge."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the absolute path in bytes."""
        if isinstance(value, bytes):
            return value
        if not value:
            self.fail("an empty path is none", param, ctx)
        if "\0" in value:
            self.fail("a path cannot hold a NUL character", param, ctx)
        problem = climbing_problem(value)
        if problem:
            self.fail(problem, param, ctx)
        return os.path.abspath(os.fsencode(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete the path itself."""
        return [CompletionItem(incomplete, type="file")]


class MachinePath(BytesPath):
    """A path of this machine, or `HOST:PATH` on another; stays the word that was typed until machines are known."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, once it can be a path."""
        super().convert(value, param, ctx)
        return value


class Instant(_ParamType):
    """A point in time: `2026-11-30`, `2026-11-30T14:00Z`, or a duration away from now such as `7d`."""

    name = "time"

    def __init__(self, *, past: bool) -> None:
        self._past = past

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime | timedelta:
        """Return an aware instant, or a duration that the command counts from now (see `instant_of`)."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        from artifactctl.domain.quantities import parse_duration

        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            try:
                away = parse_duration(value)
            except UsageError:
                self.fail(
                    f"`{value}` is neither a time such as 2026-11-30T14:00Z nor a duration such as 7d", param, ctx
                )
            return -away if self._past else away
        return at if at.tzinfo else at.replace(tzinfo=UTC)


class Metric(_ParamType):
    """`accept_len=2.1`: what was measured, and a finite number."""

    name = "metric=number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Return (metric, number)."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        metric, equals, number = value.partition("=")
        if not equals or not metric.strip() or not _without_control_characters(metric):
            self.fail(f"`{value}` is not METRIC=NUMBER, such as accept_len=2.1", param, ctx)
        try:
            measured = float(number)
        except ValueError:
            self.fail(f"`{number}` in `{value}` is not a number", param, ctx)
        if not isfinite(measured):
            self.fail(f"`{value}` is not a finite number", param, ctx)
        return metric.strip(), measured


NAME = Name()
ARTIFACT = ArtifactName()
HOST = HostName()
PATH = BytesPath()
PLACE = MachinePath()
METRIC = Metric()
PAST = Instant(past=True)
FUTURE = Instant(past=False)


def instant_of(given: datetime | timedelta | None, *, now: datetime) -> datetime | None:
    """Return the instant an option of type PAST or FUTURE means."""
    return now + given if isinstance(given, timedelta) else given


def climbing_problem(word: str) -> str:
    """Return why a `..` in a path leads to two places, "" when it does not: after a link the kernel goes up from there.

    We leave links alone and take `..` by the text, so what a person sees with `ls` would be something else.
    """
    if "\0" in word or ".." not in word.split("/"):
        return ""
    if split_host(word)[0]:
        return "what `..` leads to on another machine is not known here; give the path without `..`"
    by_text, by_kernel = os.path.realpath(os.path.abspath(word)), os.path.realpath(word)
    if by_text == by_kernel:
        return ""
    return f"`..` after a link leads to {display_path(os.fsencode(by_kernel))}; give the path without `..`"


def name_problem(name: str) -> str:
    """Return why `name` cannot name anything, "" when it can."""
    if not name:
        return "an empty name is none"
    if len(name) > MAX_NAME_CHARACTERS:
        return f"a name has at most {MAX_NAME_CHARACTERS} characters, this one has {len(name)}"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        return f"{name!r} holds a control character or bytes that are not UTF-8"
    if ":" in name:
        return f"`{name}` holds a `:`, which separates a name from a role"
    if name.startswith("-"):
        return f"`{name}` begins with `-` and would be taken for an option"
    return ""


def _at(parameter: click.Parameter | None, error: UsageError) -> UsageError:
    """Return the error with the option or argument it is about in front."""
    if parameter is None:
        return error
    place = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
    return UsageError(f"{place}: {error.message}", remedy=error.remedy)


def _can_be_a_path(word: str) -> bool:
    """Whether a word that is no name may be a path: unlike a name, that holds any byte but NUL."""
    return "\0" not in word and ("/" in word or os.path.lexists(word))


def _without_control_characters(text: str) -> bool:
    return not any(unicodedata.category(character) == "Cc" for character in text)
