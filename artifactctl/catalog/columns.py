"""Column types that mean the same in every database."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect, Integer, String, Text, TypeDecorator

from artifactctl.domain.text import storable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Identifier = BigInteger().with_variant(Integer(), "sqlite")
"""A row number; on SQLite only INTEGER is an alias of the row id."""


class Instant(TypeDecorator[datetime]):
    """An aware UTC `datetime`, stored as whole microseconds since 1970: exact, ordered and without time zones."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=value)


class Words(TypeDecorator[str]):
    r"""Text that may come from the operating system: bytes that are not UTF-8 are kept as written-out `\udcXX`.

    No database takes lone surrogates, PostgreSQL takes no NUL. What is looked up goes through the same change.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)


class Key(TypeDecorator[str]):
    """A short text that rows are looked up by: what a person types for one may be anything, as in `Words`."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class JsonText(TypeDecorator[Any]):
    """A JSON value as canonical ASCII text (keys sorted, no spaces); not the database's JSON, which may reorder."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return canonical_json(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def canonical_json(value: Any) -> str:
    """Return JSON text that is equal for equal values. ValueError for NaN and infinities."""
    plain = dict(value) if isinstance(value, Mapping) else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
