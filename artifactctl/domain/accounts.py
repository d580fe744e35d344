"""Who acts: the account that runs the program, and what its name says about the person.

An account is what the operating system enforces; the person behind it is only told (by sudo, or by the login of the
session). So an account decides what somebody may do, and a person never gives anybody more: only less.
"""

from dataclasses import dataclass

_BEHIND = " as "


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account of a process on `host`. `groups` are names; `person` is who is said to stand behind it, or "".

    `user_id` is the number that owns the files this account makes, as this process sees them. `is_superuser` is whether
    it may write every file of the machine, which root in a user namespace may not.
    """

    login: str
    host: str
    user_id: int
    is_superuser: bool = False
    groups: frozenset[str] = frozenset()
    person: str = ""

    @property
    def actor(self) -> str:
        """How it stands in the audit log: `login@host`, or `person as login@host`."""
        told = f"{self.person}{_BEHIND}" if self.person and self.person != self.login else ""
        return f"{told}{self.login}@{self.host}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who did something, as the catalog recorded it. `database_user` is who logged in to the server, "" for a file."""

    actor: str
    database_user: str = ""


def names_in(actor: str) -> frozenset[str]:
    """Return every login that an actor's text names: the account, and the person said to stand behind it."""
    login = actor.rpartition("@")[0] or actor
    person, _, account = login.rpartition(_BEHIND)
    return frozenset(name for name in (person, account) if name)


def is_another(one: Signature, other: Signature) -> bool:
    """Whether two signatures are surely of two people; not knowing is a no.

    A server knows who logged in. Elsewhere names decide, on whatever machine: who shares an account, and who is said to
    stand behind root, is not another than that account and that person.
    """
    if one.database_user or other.database_user:
        return bool(one.database_user and other.database_user) and one.database_user != other.database_user
    return not names_in(one.actor) & names_in(other.actor)
