"""Roles on a real PostgreSQL server: who logged in decides, and the server itself withholds what it was told to."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from artifactctl import audit
from artifactctl.catalog import Catalog, RoleMissing, UnknownObject, open_catalog
from artifactctl.domain.accounts import Account, is_another
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.roles import Act, Role, subject_from
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.doorkeeping import Doorkeeper
from artifactctl.inventory.granting import grant
from artifactctl.report.server_privileges import privilege_statements
from tests.bench.postgres import PASSWORD, Server

ROOT = Account(login="root", host="laptop", user_id=0)
"""Everybody is root on a laptop of their own: that decides nothing here."""

DIGEST = "d" * 64
USERS = ("ada", "bob", "leads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A fresh catalog on the server, which ada and bob may log in to; bob is a member of leads."""

    server: Server
    name: str
    stack: ExitStack
    now: Any

    def as_(self, user: str = "") -> Catalog:
        """Open the catalog as a database user, by default as the owner of the tables."""
        url = self.server.url(self.name, **({"user": user} if user else {}))
        catalog = open_catalog(url, now=self.now, doorkeeper=Doorkeeper(lambda: ROOT))
        self.stack.callback(catalog.close)
        return catalog

    def run(self, statement: str, *, user: str = "") -> None:
        """Run a statement with a client of the database's own, as one of its users."""
        url = self.server.url(self.name, **({"user": user} if user else {}))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def people(postgres: Server) -> Server:
    for statement in (
        "CREATE ROLE leads NOLOGIN",
        f"CREATE ROLE ada LOGIN PASSWORD '{PASSWORD}'",
        f"CREATE ROLE bob LOGIN PASSWORD '{PASSWORD}' IN ROLE leads",
    ):
        postgres.execute(statement)
    return postgres


@pytest.fixture
def base(people: Server, catalog_database: str, noon: Any) -> Iterator[Database]:
    """Return the database as a server would have it that leaves everything to artifactctl."""
    with ExitStack() as stack:
        found = Database(server=people, name=catalog_database.rpartition("/")[2], stack=stack, now=noon)
        for user in USERS:
            found.run(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}")
            found.run(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {user}")
        yield found


def give(catalog: Catalog, role: Role, name: str, noon: Any) -> Any:
    acting = Acting(actor=ROOT.actor, host=ROOT.host, now=noon)
    return grant(catalog, role, subject_from(name, on_a_server=True), reason="", acting=acting)


def approve(catalog: Catalog, noon: Any) -> None:
    with catalog.writing(ROOT.actor, noon) as writing:
        writing.approve(DIGEST, reason="seen")


def test_the_database_user_and_its_memberships_decide(base: Database, noon: Any) -> None:
    keeper, ada, bob = base.as_(), base.as_("ada"), base.as_("bob")
    made = give(keeper, Role.APPROVE, "leads", noon)

    approve(bob, noon)
    with pytest.raises(RoleMissing, match="the database user ada may not approve a plan"):
        approve(ada, noon)

    assert {(each.role, each.subject.name) for each in made} == {
        (Role.APPROVE, "leads"),
        (Role.ADMINISTER, "artifactctl_tests"),
    }
    with keeper.reading() as reading:
        (refused,) = [event.entry for event in audit.events(reading.connection, action="role.refused")]
        (approval,) = reading.approvals(DIGEST)
        assert audit.verify(reading.connection).ok
    assert (refused.evidence["database_user"], refused.evidence["missing_role"]) == ("ada", "approve")
    assert approval.database_user == "bob"


def test_an_account_of_ones_own_machine_gives_nothing(base: Database, noon: Any) -> None:
    give(base.as_(), Role.PURGE, "bob", noon)

    assert base.as_("bob").permission(Act.PURGE).is_given
    assert not base.as_("ada").permission(Act.PURGE).is_given, "root on a laptop is nobody here"
    assert not base.as_("ada").permission(Act.CHANGE_ROLES).is_given


def test_whoever_owns_the_tables_can_always_administer(base: Database, noon: Any) -> None:
    give(base.as_("ada"), Role.PLAN, "ada", noon)

    assert base.as_().permission(Act.CHANGE_ROLES).is_given
    assert base.as_("ada").permission(Act.CHANGE_ROLES).is_given, "the first grant is hers"
    assert not base.as_("bob").permission(Act.CHANGE_ROLES).is_given


def test_a_role_that_the_server_does_not_have_is_a_typing_error(base: Database, noon: Any) -> None:
    with pytest.raises(UnknownObject, match="the database server has no role `aad`"):
        give(base.as_(), Role.PLAN, "aad", noon)


def test_two_people_are_two_database_users_though_both_are_root(base: Database, noon: Any) -> None:
    for user, digest in (("ada", "1" * 64), ("bob", "2" * 64)):
        with base.as_(user).writing(ROOT.actor, noon) as writing:
            writing.save_plan(digest, "{}", expires_at=noon + timedelta(days=1), as_planner=True)
            writing.approve(digest, reason="mine")
    with base.as_().reading() as reading:
        planned = [reading.plan(digest * 64) for digest in "12"]
        (own,) = reading.approvals("1" * 64)
        (others,) = reading.approvals("2" * 64)

    planner = planned[0].planner if planned[0] else None
    assert planner is not None
    assert (planner.database_user, is_another(own.signature, planner)) == ("ada", False)
    assert is_another(others.signature, planner)


WITHHELD = {
    Role.PLAN: "INSERT INTO plan SELECT * FROM plan WHERE false",
    Role.APPROVE: "INSERT INTO approval SELECT * FROM approval WHERE false",
    Role.APPLY: "INSERT INTO plan_step_use SELECT * FROM plan_step_use WHERE false",
    Role.RELEASE: "UPDATE hold SET released_at = 1, released_by = 'x', release_reason = 'x' WHERE false",
    Role.ADMINISTER: "UPDATE role_grant SET revoked_at = 1 WHERE false",
}


@pytest.mark.parametrize("role", WITHHELD)
def test_the_server_itself_refuses_what_only_the_role_gives(base: Database, role: Role) -> None:
    statement = WITHHELD[role]
    for name, roles in (("ada", set(Role) - {role}), ("leads", set()), ("bob", {role})):
        for each in privilege_statements(name, roles):
            base.run(each)

    base.run(statement, user="bob")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        base.run(statement, user="ada")
    for forbidden in ("DELETE FROM audit_event", "UPDATE audit_event SET body = ''"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            base.run(forbidden, user="bob")


def test_with_the_servers_privileges_everything_that_the_roles_give_still_works(base: Database, noon: Any) -> None:
    for name, roles in (("ada", ()), ("bob", Role), ("leads", ())):
        for each in privilege_statements(name, set(roles)):
            base.run(each)
    with base.as_("ada").writing(ROOT.actor, noon) as writing:
        artifact = writing.add_artifact("hidden", ArtifactKind.HIDDEN_STATES)
        with pytest.raises(Exception, match="cannot be leased"):
            writing.grant_lease(artifact.artifact_id, owner="o", host="h", expires_at=noon + timedelta(hours=1))
        hold = writing.place_hold(artifact.artifact_id, reason="mine")
        acting = Acting(actor=ROOT.actor, host=ROOT.host, now=noon)
        audit.append(writing.connection, acting.entry(AuditAction.HOLD_ADD, artifact="hidden"))

    with base.as_("bob").writing(ROOT.actor, noon) as writing:
        writing.release_hold(hold.hold_id, reason="over")
        writing.save_plan(DIGEST, "{}", expires_at=noon + timedelta(days=1), as_planner=True)
        writing.approve(DIGEST, reason="seen")
        writing.use_step(DIGEST, 0)
        writing.confirm_lineage()
    assert len(give(base.as_("bob"), Role.PURGE, "ada", noon)) == 2
