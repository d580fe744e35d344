"""What PostgreSQL's errors mean for a person; none of the messages ever holds a password.

A connection that was never made has no SQLSTATE, only what libpq and the server said, so that is searched for words.
Where the server speaks another language the general answer stands, with what was said.
"""

import re
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError, OperationalError

from artifactctl.catalog.failures import (
    CatalogDamaged,
    CatalogDenied,
    CatalogFull,
    CatalogReadOnly,
    CatalogUnreachable,
    CatalogUnusable,
    DatabaseMissing,
    NotACatalog,
)
from artifactctl.catalog.location import Location, without_password
from artifactctl.domain.errors import ArtifactctlError, Busy, UsageError

_Explanation = Callable[[Location, str], ArtifactctlError]


def explain(error: BaseException, location: Location) -> ArtifactctlError | None:
    """Return what a database error means, None when it is a fault of the program."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = _last_words(str(cause), location)
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        explained = _BY_STATE.get(state) or _BY_CLASS.get(state[:2])
        return explained(location, said) if explained else None
    for words, explained in _BY_WORDS:
        if re.search(words, said, re.IGNORECASE):
            return explained(location, said)
    if isinstance(error, DBAPIError) and not (error.connection_invalidated or isinstance(error, OperationalError)):
        return None
    return _unreachable(location, said)


def _last_words(said: str, location: Location) -> str:
    """Return what was said in one line; of several attempts at one server the last counts."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith(("LINE", "CONTEXT"))]
    told = [line for line in lines if not line.startswith(("Multiple connection attempts", "- host:"))]
    return without_password(" ".join(told[:3]), location)


def _unreachable(where: Location, said: str) -> ArtifactctlError:
    return CatalogUnreachable(
        f"the server of the catalog {where.shown} does not answer: {said}",
        remedy="check that it runs and that its host and port are right: `pg_isready -d URL` tries the same",
    )


def _starting(where: Location, said: str) -> ArtifactctlError:
    return Busy(f"the server of the catalog {where.shown} is not ready: {said}", remedy="try again in a moment")


def _wrong_password(where: Location, said: str) -> ArtifactctlError:
    return CatalogDenied(
        f"the server of the catalog {where.shown} does not let you in: {said}",
        remedy="give the password in ~/.pgpass, PGPASSWORD or a service file; in the URL other users of the machine "
        "could read it",
    )


def _not_allowed_here(where: Location, said: str) -> ArtifactctlError:
    return CatalogDenied(
        f"the server of the catalog {where.shown} does not let you in from here: {said}",
        remedy="whoever runs the server adds a line for you to its pg_hba.conf",
    )


def _no_database(where: Location, said: str) -> ArtifactctlError:
    return DatabaseMissing(
        f"there is no database for the catalog {where.shown}: {said}",
        remedy=f"createdb --encoding=UTF8 {where.url.database or 'NAME'}, then `artifactctl init`",
    )


def _too_many(where: Location, said: str) -> ArtifactctlError:
    return Busy(
        f"the server of the catalog {where.shown} has no connection left: {said}",
        remedy="try again in a moment; if it stays so, max_connections there is too low, or sessions were left open",
    )


def _no_tls(where: Location, said: str) -> ArtifactctlError:
    return CatalogUnreachable(
        f"no encrypted connection to the catalog {where.shown} could be made: {said}",
        remedy="check sslmode, sslrootcert and sslcert in the URL or the service file against what the server offers",
    )


def _no_service(where: Location, said: str) -> ArtifactctlError:
    return UsageError(
        f"the catalog's connection cannot be read: {said}",
        remedy="services are defined in ~/.pg_service.conf or the file that PGSERVICEFILE names",
    )


def _read_only(where: Location, said: str) -> ArtifactctlError:
    return CatalogReadOnly(
        f"the catalog {where.shown} can only be read there: {said}",
        remedy="name the primary server, or add target_session_attrs=read-write to a URL with several hosts",
    )


def _not_permitted(where: Location, said: str) -> ArtifactctlError:
    return CatalogDenied(
        f"your role may not do this in the catalog {where.shown}: {said}",
        remedy="whoever owns the database grants it, or use a role that may",
    )


def _full(where: Location, said: str) -> ArtifactctlError:
    return CatalogFull(
        f"the disk of the catalog {where.shown} is full; nothing was recorded: {said}",
        remedy="free space on the database server, then try again",
    )


def _damaged(where: Location, said: str) -> ArtifactctlError:
    return CatalogDamaged(
        f"the catalog {where.shown} reads as damaged: {said}",
        remedy="whoever runs the server looks at its disk and its log; nothing was made anew",
    )


def _in_the_way(where: Location, said: str) -> ArtifactctlError:
    return Busy(f"another program was in the way of the catalog {where.shown}: {said}", remedy="try again")


def _cut_off(where: Location, said: str) -> ArtifactctlError:
    return CatalogUnusable(
        f"the server ended the session with the catalog {where.shown}: {said}",
        remedy="`artifactctl doctor` shows what was left unfinished; then run the command again",
    )


def _foreign(where: Location, said: str) -> ArtifactctlError:
    return NotACatalog(f"the database {where.shown} holds no catalog of this kind: {said}", remedy="name another")


def _other_encoding(where: Location, said: str) -> ArtifactctlError:
    return CatalogUnusable(
        f"the catalog {where.shown} cannot hold this: {said}", remedy="use a database made with --encoding=UTF8"
    )


_BY_STATE: dict[str, _Explanation] = {
    "25006": _read_only,  # read_only_sql_transaction
    "25P03": _cut_off,  # idle_in_transaction_session_timeout
    "28P01": _wrong_password,
    "28000": _not_allowed_here,
    "3D000": _no_database,
    "40001": _in_the_way,  # serialization_failure; on a standby, a conflict with recovery
    "40P01": _in_the_way,  # deadlock_detected
    "42501": _not_permitted,
    "42P01": _foreign,  # undefined_table
    "53100": _full,
    "53300": _too_many,
    "55P03": _in_the_way,  # lock_not_available
    "57014": _in_the_way,  # query_canceled: by hand or by statement_timeout
    "57P03": _starting,
    "22P05": _other_encoding,  # untranslatable_character
}
_BY_CLASS: dict[str, _Explanation] = {
    "08": _unreachable,
    "53": _in_the_way,
    "57": _cut_off,
    "58": _damaged,
    "XX": _damaged,
}
_BY_WORDS: tuple[tuple[str, _Explanation], ...] = (
    (r"password authentication failed|no password supplied|authentication failed", _wrong_password),
    (r'database ".*" does not exist', _no_database),
    (r"no pg_hba\.conf entry|role .* does not exist|is not permitted to log in|permission denied", _not_allowed_here),
    (r"too many (clients|connections)|remaining connection slots", _too_many),
    (r"starting up|shutting down|not (yet )?accepting connections|recovery mode", _starting),
    (r"server does not support SSL|SSL|certificate|sslmode", _no_tls),
    (r"session is read-only|session is in read-only|server is in hot standby", _read_only),
    (r"service|invalid connection option|invalid URI|invalid port|invalid integer", _no_service),
    (r"terminating connection", _cut_off),
)
