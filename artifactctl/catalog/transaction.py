"""The one transaction in which the catalog is changed: what every change needs of it."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection

from artifactctl.catalog.gate import Gate
from artifactctl.domain.roles import Act, Identity
from artifactctl.domain.uptime import Uptime


class Transaction:
    """A transaction by `actor` at `now`, with the gate that says what whoever acts may do in it.

    `uptime` asks the machine at hand, None where nobody can: then only clocks speak of what is over.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        actor: str,
        now: datetime,
        gate: Gate,
        uptime: Callable[[], Uptime] | None = None,
    ) -> None:
        self.connection = connection
        self.uptime = uptime
        self.actor = actor
        self.now = now
        self._gate = gate

    def require(self, act: Act, *, about: str = "") -> None:
        """Raise RoleMissing, which undoes this transaction and is audited, unless whoever acts may do this."""
        self._gate.require(self.connection, act, about=about)

    def who_acts(self) -> Identity | None:
        """Return who acts as the roles see it, None where nobody can say."""
        return self._gate.identity(self.connection)

    def database_user(self) -> str:
        """Return who logged in to the database server, "" for a catalog in a file."""
        return self._gate.database_user(self.connection)
