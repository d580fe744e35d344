"""Roles on a real PostgreSQL server: who logged in decides, and the server itself withholds what it was told to."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from artifactctl import audit
from artifactctl.catalog import Catalog, RoleMissing, UnknownObject, create_or_upgrade, open_catalog
from artifactctl.domain.accounts import Account, is_another
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.roles import Act, Role, subject_from
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.doorkeeping import Doorkeeper
from artifactctl.inventory.granting import grant
from artifactctl.report.server_privileges import privilege_statements
from tests.catalog.small_server import PASSWORD, Server, programs, running_server

ROOT = Account(login="root", host="laptop", user_id=0)
"""Everybody is root on a laptop of their own: that decides nothing here."""

pytestmark = pytest.mark.skipif(not programs(), reason="no PostgreSQL here (Debian: apt-get install postgresql)")

DIGEST = "d" * 64
As = Callable[[str], Catalog]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        for statement in (
            "CREATE ROLE leads NOLOGIN",
            f"CREATE ROLE ada LOGIN PASSWORD '{PASSWORD}'",
            f"CREATE ROLE bob LOGIN PASSWORD '{PASSWORD}' IN ROLE leads",
        ):
            running.execute(statement)
        yield running


@pytest.fixture
def as_(server: Server, noon: Any, request: pytest.FixtureRequest) -> Iterator[As]:
    """Return a function that opens a fresh catalog as a database user, who may read and write everything in it."""
    name = f"test_{abs(hash(request.node.name))}"
    server.execute(f"CREATE DATABASE {name}")
    doorkeeper = Doorkeeper(lambda: ROOT)
    with ExitStack() as stack:
        keeper = create_or_upgrade(server.url(name), now=noon, doorkeeper=doorkeeper)
        stack.callback(keeper.close)
        for user in ("ada", "bob", "leads"):
            server.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}", database=name)
            server.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {user}", database=name)

        def open_as(user: str) -> Catalog:
            catalog = open_catalog(server.url(name, user=user), now=noon, doorkeeper=doorkeeper)
            stack.callback(catalog.close)
            return catalog

        open_as.database = name  # type: ignore[attr-defined]
        yield open_as
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def give(catalog: Catalog, role: Role, name: str, noon: Any) -> Any:
    acting = Acting(actor=ROOT.actor, host=ROOT.host, now=noon)
    return grant(catalog, role, subject_from(name, on_a_server=True), reason="", acting=acting)


def approve(catalog: Catalog, noon: Any) -> None:
    with catalog.writing(ROOT.actor, noon) as writing:
        writing.approve(DIGEST, reason="seen")


def test_the_database_user_and_its_memberships_decide(as_: As, noon: Any) -> None:
    keeper, ada, bob = as_("keeper"), as_("ada"), as_("bob")
    made = give(keeper, Role.APPROVE, "leads", noon)

    approve(bob, noon)
    with pytest.raises(RoleMissing, match="the database user ada may not approve a plan"):
        approve(ada, noon)

    assert {(each.role, each.subject.name) for each in made} == {
        (Role.APPROVE, "leads"),
        (Role.ADMINISTER, "keeper"),
    }
    with keeper.reading() as reading:
        (refused,) = [event.entry for event in audit.events(reading.connection, action="role.refused")]
        (approval,) = reading.approvals(DIGEST)
        assert audit.verify(reading.connection).ok
    assert (refused.evidence["database_user"], refused.evidence["missing_role"]) == ("ada", "approve")
    assert approval.database_user == "bob"


def test_an_account_of_ones_own_machine_gives_nothing(as_: As, noon: Any) -> None:
    give(as_("keeper"), Role.PURGE, "bob", noon)

    assert as_("bob").permission(Act.PURGE).is_given
    assert not as_("ada").permission(Act.PURGE).is_given, "root on a laptop is nobody here"
    assert not as_("ada").permission(Act.CHANGE_ROLES).is_given


def test_whoever_owns_the_tables_can_always_administer(as_: As, noon: Any) -> None:
    give(as_("ada"), Role.PLAN, "ada", noon)

    assert as_("keeper").permission(Act.CHANGE_ROLES).is_given
    assert as_("ada").permission(Act.CHANGE_ROLES).is_given, "the first grant is hers"
    assert not as_("bob").permission(Act.CHANGE_ROLES).is_given


def test_a_role_that_the_server_does_not_have_is_a_typing_error(as_: As, noon: Any) -> None:
    with pytest.raises(UnknownObject, match="the database server has no role `aad`"):
        give(as_("keeper"), Role.PLAN, "aad", noon)


def test_two_people_are_two_database_users_though_both_are_root(as_: As, noon: Any) -> None:
    for user, digest in (("ada", "1" * 64), ("bob", "2" * 64)):
        with as_(user).writing(ROOT.actor, noon) as writing:
            writing.save_plan(digest, "{}", expires_at=noon + timedelta(days=1), as_planner=True)
            writing.approve(digest, reason="mine")
    with as_("keeper").reading() as reading:
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
def test_the_server_itself_refuses_what_only_the_role_gives(server: Server, as_: As, noon: Any, role: Role) -> None:
    database: str = as_.database  # type: ignore[attr-defined]
    statement = WITHHELD[role]
    for name, roles in (("ada", set(Role) - {role}), ("leads", set()), ("bob", {role})):
        for each in privilege_statements(name, roles):
            server.execute(each, database=database)

    server.execute(statement, database=database, user="bob")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        server.execute(statement, database=database, user="ada")
    for forbidden in ("DELETE FROM audit_event", "UPDATE audit_event SET body = ''"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            server.execute(forbidden, database=database, user="bob")


def test_with_the_servers_privileges_everything_that_the_roles_give_still_works(
    server: Server, as_: As, noon: Any
) -> None:
    database: str = as_.database  # type: ignore[attr-defined]
    for name, roles in (("ada", ()), ("bob", Role), ("leads", ())):
        for each in privilege_statements(name, set(roles)):
            server.execute(each, database=database)
    with as_("ada").writing(ROOT.actor, noon) as writing:
        artifact = writing.add_artifact("hidden", ArtifactKind.HIDDEN_STATES)
        with pytest.raises(Exception, match="cannot be leased"):
            writing.grant_lease(artifact.artifact_id, owner="o", host="h", expires_at=noon + timedelta(hours=1))
        hold = writing.place_hold(artifact.artifact_id, reason="mine")
        acting = Acting(actor=ROOT.actor, host=ROOT.host, now=noon)
        audit.append(writing.connection, acting.entry(AuditAction.HOLD_ADD, artifact="hidden"))

    with as_("bob").writing(ROOT.actor, noon) as writing:
        writing.release_hold(hold.hold_id, reason="over")
        writing.save_plan(DIGEST, "{}", expires_at=noon + timedelta(days=1), as_planner=True)
        writing.approve(DIGEST, reason="seen")
        writing.use_step(DIGEST, 0)
        writing.confirm_lineage()
    assert len(give(as_("bob"), Role.PURGE, "ada", noon)) == 2
