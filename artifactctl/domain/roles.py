"""Who may do what: acts that take a role, roles that are granted, and the one decision about them.

Where no role is recorded everybody who can open the catalog may do everything. From the first grant on each act of
`RULES` takes its role; what is not listed there (looking, registering, keeping, leasing, putting back) takes none.
Whoever owns the catalog may always administer: they can change the database by hand, and so nobody is ever locked out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from artifactctl.domain.errors import UsageError
from artifactctl.domain.verdicts import Verdict


class Role(StrEnum):
    """What can be granted."""

    PLAN = "plan"
    APPROVE = "approve"
    APPLY = "apply"
    PURGE = "purge"
    RELEASE = "release"
    ADMINISTER = "administer"


class Act(StrEnum):
    """What takes a role."""

    PLAN = "plan"
    APPROVE = "approve"
    SET_ASIDE = "set_aside"
    PURGE = "purge"
    COPY = "copy"
    RELEASE_HOLD = "release_hold"
    BREAK_LEASE = "break_lease"
    CHANGE_ROOT = "change_root"
    ADD_HOST = "add_host"
    CONFIRM_CATALOG = "confirm_catalog"
    REPLACE_CATALOG = "replace_catalog"
    CHANGE_ROLES = "change_roles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The role that an act takes, what the act is in words ("may not ..."), and the commands that do it."""

    role: Role
    words: str
    commands: tuple[str, ...]


RULES: Mapping[Act, Rule] = {
    Act.PLAN: Rule(role=Role.PLAN, words="make a reclaim plan", commands=("reclaim --out", "reclaim")),
    Act.APPROVE: Rule(role=Role.APPROVE, words="approve a plan", commands=("approve",)),
    Act.SET_ASIDE: Rule(role=Role.APPLY, words="set artifacts aside", commands=("apply", "reclaim")),
    Act.PURGE: Rule(
        role=Role.PURGE, words="purge artifacts", commands=("quarantine purge", "reclaim --purge-now", "apply")
    ),
    Act.COPY: Rule(
        role=Role.APPLY,
        words="make copies of artifacts, in roots or in object stores",
        commands=("archive", "unarchive"),
    ),
    Act.RELEASE_HOLD: Rule(role=Role.RELEASE, words="release a hold", commands=("hold release",)),
    Act.BREAK_LEASE: Rule(role=Role.RELEASE, words="break a lease", commands=("lease break",)),
    Act.CHANGE_ROOT: Rule(
        role=Role.ADMINISTER,
        words="add, attest or forget a root",
        commands=("root add", "root attest", "root forget"),
    ),
    Act.ADD_HOST: Rule(
        role=Role.ADMINISTER,
        words="make another machine known, or forget one",
        commands=("host add", "host forget"),
    ),
    Act.CONFIRM_CATALOG: Rule(
        role=Role.ADMINISTER, words="take a restored catalog into force", commands=("doctor --repair",)
    ),
    Act.REPLACE_CATALOG: Rule(
        role=Role.ADMINISTER,
        words="put a backup in the catalog's place, or move it",
        commands=("catalog restore", "catalog copy"),
    ),
    Act.CHANGE_ROLES: Rule(
        role=Role.ADMINISTER, words="grant or revoke a role", commands=("role grant", "role revoke")
    ),
}


class SubjectKind(StrEnum):
    """What a grant may name: an account or group of the operating system, or a role of the database server."""

    ACCOUNT = "account"
    GROUP = "group"
    DATABASE_ROLE = "database_role"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who a role is granted to. An account is `login` (on any machine) or `login@host`."""

    kind: SubjectKind
    name: str

    def __str__(self) -> str:
        return f"group:{self.name}" if self.kind is SubjectKind.GROUP else self.name


def subject_from(word: str, *, on_a_server: bool) -> Subject:
    """Return who is meant by `login`, `login@host` or `group:NAME`, or to a database server by a role's name.

    UsageError for what names nobody.
    """
    kind, colon, name = word.rpartition(":")
    if not name.strip() or name != name.strip() or (colon and kind != _GROUP) or not name.isprintable():
        raise UsageError(f"{word!r} names nobody", remedy=f"write {_SERVER_FORMS if on_a_server else _SYSTEM_FORMS}")
    if on_a_server:
        if colon:
            raise UsageError(
                f"a database server knows no group `{name}` of the operating system",
                remedy=f"grant to a role of the server and make people members of it: GRANT {name} TO ada",
            )
        return Subject(kind=SubjectKind.DATABASE_ROLE, name=name)
    return Subject(kind=SubjectKind.GROUP if colon else SubjectKind.ACCOUNT, name=name)


def subject_meant(word: str, grants: Iterable["Grant"], *, on_a_server: bool) -> Subject:
    """Return who is meant where something is taken back: as it is listed, whatever kind of catalog granted it."""
    known = next((grant.subject for grant in grants if str(grant.subject) == word), None)
    return known or subject_from(word, on_a_server=on_a_server)


_GROUP = "group"
_SYSTEM_FORMS = "a login such as ada, one on one machine such as ada@gpu1, or a group such as group:ml"
_SERVER_FORMS = "the name of a role of the database server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A role granted and not revoked."""

    grant_id: int
    role: Role
    subject: Subject
    granted_by: str
    granted_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who acts, as whoever keeps the catalog knows it: the operating system for a file, the server for a database.

    `self_subject` is what a grant to exactly this one names, `subjects` everything that a grant may name to include it.
    `shown` is for people, `database_user` who logged in to the server, "" for a file.
    """

    self_subject: Subject
    subjects: frozenset[Subject]
    shown: str
    owns_catalog: bool
    database_user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """The answer to whether somebody may do an act; only `clear` permits it."""

    act: Act
    verdict: Verdict
    reason: str

    @property
    def role(self) -> Role:
        """The role that the act takes."""
        return RULES[self.act].role

    @property
    def is_given(self) -> bool:
        """Whether the act may be done."""
        return self.verdict is Verdict.CLEAR


def permits(grants: Iterable[Grant], who: Identity | None, act: Act) -> Permission:
    """Return whether `who` may do `act` under the grants in force; nobody knows who acts when `who` is None."""
    in_force = tuple(grants)
    rule = RULES[act]
    if not in_force:
        return Permission(act=act, verdict=Verdict.CLEAR, reason="no role is recorded, so everybody may")
    if who is None:
        reason = f"nobody can say who acts, so nobody may {rule.words}: that takes the role `{rule.role}`"
        return Permission(act=act, verdict=Verdict.UNKNOWN, reason=reason)
    given = next((grant for grant in in_force if grant.role is rule.role and grant.subject in who.subjects), None)
    if given is not None:
        reason = f"`{given.subject}` has the role `{given.role}`"
        return Permission(act=act, verdict=Verdict.CLEAR, reason=reason)
    if rule.role is Role.ADMINISTER and who.owns_catalog:
        return Permission(act=act, verdict=Verdict.CLEAR, reason=f"{who.shown} owns the catalog")
    reason = f"{who.shown} may not {rule.words}: that takes the role `{rule.role}`"
    return Permission(act=act, verdict=Verdict.BLOCKED, reason=reason)


def roles_of(grants: Iterable[Grant], who: Identity) -> frozenset[Role]:
    """Return the roles that somebody has, by grants or as the owner; every role where none is recorded."""
    in_force = tuple(grants)
    acts = {rule.role: act for act, rule in RULES.items()}
    return frozenset(role for role in Role if permits(in_force, who, acts[role]).is_given)


def may_administer_without(grants: Iterable[Grant], gone: Iterable[Grant], who: Identity) -> bool:
    """Whether somebody could still change roles after `gone` were revoked: always so when no grant is left at all."""
    lost = {grant.grant_id for grant in gone}
    return permits([grant for grant in grants if grant.grant_id not in lost], who, Act.CHANGE_ROLES).is_given
