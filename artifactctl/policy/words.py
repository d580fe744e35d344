"""How single values are written in a policy file: sizes, durations, instants, words of a fixed set, patterns."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState
from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import parse_duration, parse_percent, parse_size
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.policy.ruleset import Action, MetricMode

UNIT = "unit"
"""The error type of a size, duration or share that cannot be read."""

WORD = "word"
"""The error type of everything else that this module refuses."""

_NO_PATTERN_SIGNS = "[]{}"
_GROUP_FIELDS = ("run", "kind", "root", "folder")
_LABEL_FIELD = "labels."


def refuse(kind: str, message: str) -> PydanticCustomError:
    """Return the error of a validator; the message is taken as it is, braces included."""
    return PydanticCustomError(kind, "{message}", {"message": message})


def _quantity(parse: Callable[[str], Any], example: str) -> Callable[[Any], Any]:
    def read(value: object) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise refuse(UNIT, f"write it like {example}")
        try:
            return parse(str(value))
        except UsageError as error:
            raise refuse(UNIT, f"{error.message}; {error.remedy}") from error

    return read


def _share(text: str) -> float:
    return float(parse_percent(text))


def _word(choices: type[StrEnum], what: str) -> Callable[[Any], Any]:
    def read(value: object) -> Any:
        if value in list(choices):
            return choices(str(value))
        raise refuse(WORD, f"`{value}` is not {what}; {did_you_mean(str(value), choices)}")

    return read


def one_or_several(value: object) -> object:
    """Return a single value as a list of one; what is in it is judged by the items' own type."""
    return value if isinstance(value, tuple | dict) or value is None else (value,)


def _instant(value: object) -> datetime:
    try:
        at = datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError as error:
        raise refuse(WORD, f"`{value}` is not a date; write 2027-03-01, or 2027-03-01T12:00:00Z") from error
    if at.tzinfo is None:
        if at.time() != datetime.min.time() or (isinstance(value, str) and len(value) > len("2027-03-01")):
            raise refuse(WORD, f"`{value}` has no time zone; write it in UTC: {value}Z")
        return at.replace(tzinfo=UTC)
    return at.astimezone(UTC)


def _group_field(value: object) -> str:
    field = str(value)
    if field in _GROUP_FIELDS or (field.startswith(_LABEL_FIELD) and field != _LABEL_FIELD):
        return field
    raise refuse(WORD, f"nothing is grouped by `{field}`; {did_you_mean(field, (*_GROUP_FIELDS, 'labels.KEY'))}")


def _pattern(value: str) -> str:
    # Elsewhere they mean a set or a choice. Taken as they are, a protection written so would silently protect nothing.
    found = next((sign for sign in value if sign in _NO_PATTERN_SIGNS), None)
    if found is not None:
        raise refuse(
            WORD,
            f"`{found}` in the pattern `{value}` means nothing here: write `?` for any one character, "
            "or a list of patterns",
        )
    return value


def several_of(items: Iterable[str] | None = None, *, pattern: str = "") -> WithJsonSchema:
    """Return the schema of one word or a list of words, out of `items` where there are some."""
    word: dict[str, Any] = {"type": "string", "minLength": 1} if items is None else {"enum": [str(i) for i in items]}
    if pattern:
        word["pattern"] = pattern
    return WithJsonSchema({"anyOf": [word, {"type": "array", "items": word, "minItems": 1}]})


def _text_schema(pattern: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": list(examples)})


_SIZE_PATTERN = r"^ *[0-9]+(\.[0-9]+)? ?([kKmMgGtTpPeE][iI]?)?[bB] *$"
_DURATION_PATTERN = r"^ *([0-9]+(\.[0-9]+)?(w|d|h|m|min|s))+ *$"
_PERCENT_PATTERN = r"^ *[0-9]+(\.[0-9]+)? ?% *$"
_INSTANT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].+(Z|[+-][0-9]{2}:?[0-9]{2}))?$"
_GROUP_PATTERN = r"^(run|kind|root|folder|labels\..+)$"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_LINE_PATTERN = r"^[^\r\n]*$"

Size = Annotated[
    int, BeforeValidator(_quantity(parse_size, "20TiB")), _text_schema(_SIZE_PATTERN, "20TiB", "500GiB", "1.5TB")
]
Duration = Annotated[
    timedelta,
    BeforeValidator(_quantity(parse_duration, "14d")),
    _text_schema(_DURATION_PATTERN, "72h", "14d", "1d12h"),
]
Share = Annotated[float, BeforeValidator(_quantity(_share, "30%")), _text_schema(_PERCENT_PATTERN, "30%")]
Instant = Annotated[
    datetime, BeforeValidator(_instant), _text_schema(_INSTANT_PATTERN, "2027-03-01", "2026-11-30T00:00:00Z")
]
Line = Annotated[str, Field(pattern=_LINE_PATTERN)]
Text = Annotated[str, Field(min_length=1, pattern=_LINE_PATTERN)]
EntryName = Annotated[str, Field(pattern=NAME_PATTERN, max_length=64, examples=["released-models"])]
GroupField = Annotated[
    str, BeforeValidator(_group_field), _text_schema(_GROUP_PATTERN, "run", "kind", "root", "folder", "labels.corpus")
]
Kind = Annotated[ArtifactKind, BeforeValidator(_word(ArtifactKind, "a kind of artifact"))]
Kinds = Annotated[
    tuple[Kind, ...], Field(min_length=1), BeforeValidator(one_or_several), several_of(tuple(ArtifactKind))
]
ProducerState = Annotated[RunState, BeforeValidator(_word(RunState, "a state of a run"))]
ProducerStates = Annotated[
    tuple[ProducerState, ...], Field(min_length=1), BeforeValidator(one_or_several), several_of(tuple(RunState))
]
Words = Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(one_or_several), several_of()]
Pattern = Annotated[Text, AfterValidator(_pattern)]
Patterns = Annotated[
    tuple[Pattern, ...],
    Field(min_length=1),
    BeforeValidator(one_or_several),
    several_of(pattern=r"^[^\[\]{}]*$"),
]
ActionWord = Annotated[Action, BeforeValidator(_word(Action, "an action"))]
Mode = Annotated[MetricMode, BeforeValidator(_word(MetricMode, "a direction"))]

DERIVED_FROM = "derived_from"
"""The relation of anything built from the artifact at hand, in whatever role."""

_RELATIONS = (DERIVED_FROM, *LineageRole)


def _relation(value: object) -> str:
    if value in _RELATIONS:
        return str(value)
    raise refuse(WORD, f"`{value}` is not a relation; {did_you_mean(str(value), _RELATIONS)}")


RelationWord = Annotated[
    str, BeforeValidator(_relation), WithJsonSchema({"enum": [str(relation) for relation in _RELATIONS]})
]
