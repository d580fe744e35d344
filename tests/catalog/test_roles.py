"""Roles in the catalog: every act that takes one is refused in the transaction that does it, and that is audited."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from artifactctl import audit
from artifactctl.catalog import Catalog, LastAdministrator, RoleMissing, UnknownObject, Writing, open_catalog
from artifactctl.domain.accounts import Account
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.roles import RULES, Act, Role, Subject, SubjectKind
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.doorkeeping import Doorkeeper
from artifactctl.inventory.granting import grant, revoke
from tests.bench.databases import ON_SQLITE

ADA = Account(login="ada", host="here", user_id=1001, groups=frozenset({"ml"}))
BOB = Account(login="bob", host="here", user_id=1002)
SUBJECTS = {name: Subject(kind=SubjectKind.ACCOUNT, name=name) for name in ("ada", "bob", "eve")}
DIGEST = "d" * 64

pytestmark = ON_SQLITE

Open = Callable[[Account | None], Catalog]


@pytest.fixture
def as_(catalog: Catalog, location: Path, noon: Any) -> Any:
    """Return a function that opens the catalog as somebody else; all are closed at the end."""
    opened = []

    def open_as(account: Account | None) -> Catalog:
        doorkeeper = None if account is None else Doorkeeper(lambda: account)
        opened.append(open_catalog(location, now=noon, doorkeeper=doorkeeper))
        return opened[-1]

    yield open_as
    for each in opened:
        each.close()


def acting(account: Account, noon: Any) -> Acting:
    return Acting(actor=account.actor, host=account.host, now=noon)


def give(catalog: Catalog, account: Account, role: Role, name: str, noon: Any) -> Any:
    return grant(catalog, role, SUBJECTS[name], reason="", acting=acting(account, noon))


def told(catalog: Catalog, action: str) -> list[Any]:
    with catalog.reading() as reading:
        return [event.entry for event in audit.events(reading.connection, action=action)]


ACTS: dict[Act, Callable[[Writing], object]] = {
    Act.PLAN: lambda writing: writing.save_plan(DIGEST, "{}", expires_at=writing.now),
    Act.APPROVE: lambda writing: writing.approve(DIGEST, reason="seen"),
    Act.SET_ASIDE: lambda writing: writing.change_state(1, expected={ReplicaState.LIVE}, to=ReplicaState.QUARANTINING),
    Act.PURGE: lambda writing: writing.change_state(1, expected={ReplicaState.LIVE}, to=ReplicaState.PURGING),
    Act.COPY: lambda writing: writing.begin_archive(
        1, "s3://bucket/x", codec="raw", files=1, size_bytes=1, source_fingerprint="f"
    ),
    Act.RELEASE_HOLD: lambda writing: writing.release_hold(1, reason="over"),
    Act.BREAK_LEASE: lambda writing: writing.break_lease("lease-1", reason="gone"),
    Act.CHANGE_ROOT: lambda writing: writing.forget_root("root-1"),
    Act.ADD_HOST: lambda writing: writing.add_host("gpu2", machine_id="m-2", address="ssh://gpu2"),
    Act.CONFIRM_CATALOG: lambda writing: writing.confirm_lineage(),
    Act.REPLACE_CATALOG: lambda writing: writing.move("postgresql://server/team"),
    Act.CHANGE_ROLES: lambda writing: writing.grant_role(Role.PURGE, SUBJECTS["eve"], reason=""),
}


@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize("how", ["without the role", "with the role", "unknown"])
def test_each_act_is_done_with_its_role_and_refused_without(
    as_: Open, catalog: Catalog, place: Any, noon: Any, act: Act, how: str
) -> None:
    place("hidden")
    with catalog.writing("ada", noon) as writing:
        writing.place_hold(1, reason="keep")
        lease = writing.grant_lease(1, owner="o", host="h", expires_at=noon.replace(hour=13))
        writing.connection.exec_driver_sql("UPDATE lease SET lease_id = 'lease-1'")
    assert lease is not None
    ada = as_(ADA)
    give(ada, ADA, Role.PLAN if act is not Act.PLAN else Role.APPLY, "ada", noon)
    bob = as_(None if how == "unknown" else BOB)
    if how == "with the role":
        give(ada, ADA, RULES[act].role, "bob", noon)
        with bob.writing(BOB.actor, noon) as writing:
            ACTS[act](writing)
        return

    before = told(ada, "role.refused")
    with pytest.raises(RoleMissing), bob.writing(BOB.actor, noon) as writing:
        ACTS[act](writing)

    (refused,) = told(ada, "role.refused") if how != "unknown" else (None,)
    assert before == []
    if refused is not None:
        assert (refused.actor, refused.evidence["act"], refused.evidence["account"]) == ("bob@here", act.value, "bob")
        assert refused.evidence["missing_role"] in refused.reason
    with ada.reading() as reading:
        assert audit.verify(reading.connection).ok
        assert len(reading.holds()) == 1


def test_a_refusal_undoes_everything_else_of_its_transaction(as_: Open, noon: Any) -> None:
    give(as_(ADA), ADA, Role.APPROVE, "ada", noon)

    def add_and_approve() -> None:
        with as_(BOB).writing(BOB.actor, noon) as writing:
            writing.add_host("other", machine_id="m-2")
            writing.approve(DIGEST, reason="seen")

    with pytest.raises(RoleMissing):
        add_and_approve()

    with as_(BOB).reading() as reading:
        assert [host.name for host in reading.hosts()] == ["here"]


def test_what_takes_no_role_is_done_by_anybody(as_: Open, place: Any, noon: Any) -> None:
    artifact = place("hidden")
    give(as_(ADA), ADA, Role.PURGE, "ada", noon)

    with as_(BOB).writing(BOB.actor, noon) as writing:
        writing.place_hold(artifact.artifact_id, reason="mine")
        writing.grant_lease(artifact.artifact_id, owner="o", host="h", expires_at=noon.replace(hour=13))
        writing.add_measurement(artifact.artifact_id, "loss", 1.0)


def test_asking_beforehand_writes_nothing_where_it_is_permitted(as_: Open, noon: Any) -> None:
    ada = as_(ADA)
    give(ada, ADA, Role.PURGE, "ada", noon)
    with ada.reading() as reading:
        before = reading.revision()

    ada.require(Act.PURGE, ADA.actor, noon)

    with ada.reading() as reading:
        assert reading.revision() == before
    with pytest.raises(RoleMissing, match="bob@here may not purge artifacts"):
        as_(BOB).require(Act.PURGE, BOB.actor, noon, about="hidden")
    assert [entry.evidence["about"] for entry in told(ada, "role.refused")] == ["hidden"]


def test_the_first_grant_leaves_its_maker_able_to_grant(as_: Open, noon: Any) -> None:
    ada = as_(ADA)

    made = give(ada, ADA, Role.APPLY, "bob", noon)
    again = give(ada, ADA, Role.APPLY, "bob", noon)

    assert {(each.role, each.subject.name) for each in made} == {(Role.APPLY, "bob"), (Role.ADMINISTER, "ada")}
    assert again == ()
    assert len(give(ada, ADA, Role.PURGE, "eve", noon)) == 1
    assert len(told(ada, "role.grant")) == 3


def test_nobody_takes_from_themselves_what_they_need_to_give_it_again(as_: Open, noon: Any) -> None:
    ada, bob = as_(ADA), as_(BOB)
    give(ada, ADA, Role.APPLY, "bob", noon)

    with pytest.raises(LastAdministrator) as caught:
        revoke(ada, Role.ADMINISTER, SUBJECTS["ada"], reason="", acting=acting(ADA, noon))
    give(ada, ADA, Role.ADMINISTER, "bob", noon)
    revoke(bob, Role.ADMINISTER, SUBJECTS["ada"], reason="left", acting=acting(BOB, noon))

    assert "another administrator" in caught.value.remedy
    with pytest.raises(RoleMissing):
        give(ada, ADA, Role.PURGE, "ada", noon)
    assert [entry.evidence["subject"] for entry in told(bob, "role.revoke")] == ["ada"]


def test_the_last_grant_of_all_can_be_revoked_and_everybody_may_do_everything_again(as_: Open, noon: Any) -> None:
    ada = as_(ADA)
    give(ada, ADA, Role.APPLY, "bob", noon)
    for role, name in ((Role.APPLY, "bob"), (Role.ADMINISTER, "ada")):
        revoke(ada, role, SUBJECTS[name], reason="", acting=acting(ADA, noon))

    assert as_(BOB).permission(Act.PURGE).is_given
    assert as_(None).permission(Act.PURGE).is_given
    with pytest.raises(UnknownObject):
        revoke(ada, Role.APPLY, SUBJECTS["bob"], reason="", acting=acting(ADA, noon))


@pytest.mark.parametrize("owner", ["root", "owner of the file"])
def test_whoever_owns_the_file_can_always_administer(as_: Open, location: Path, noon: Any, owner: str) -> None:
    give(as_(ADA), ADA, Role.APPLY, "bob", noon)
    facts = {"root": (1004, True), "owner of the file": (location.stat().st_uid, False)}
    user_id, is_superuser = facts[owner]
    eve = Account(login="eve", host="here", user_id=user_id, is_superuser=is_superuser)

    assert len(give(as_(eve), eve, Role.PURGE, "eve", noon)) == 1
    assert not as_(replace(eve, user_id=1003, is_superuser=False)).permission(Act.CHANGE_ROLES).is_given
    assert not as_(eve).permission(Act.SET_ASIDE).is_given


def test_a_group_and_a_machine_decide_where_they_are_named(as_: Open, noon: Any) -> None:
    ada = as_(ADA)
    for role, kind, name in (
        (Role.PURGE, SubjectKind.GROUP, "ml"),
        (Role.APPLY, SubjectKind.ACCOUNT, "bob@here"),
        (Role.APPROVE, SubjectKind.ACCOUNT, "bob@elsewhere"),
    ):
        grant(ada, role, Subject(kind=kind, name=name), reason="", acting=acting(ADA, noon))

    may = {act: as_(BOB).permission(act).is_given for act in (Act.PURGE, Act.SET_ASIDE, Act.APPROVE)}
    assert may == {Act.PURGE: False, Act.SET_ASIDE: True, Act.APPROVE: False}
    assert ada.permission(Act.PURGE).is_given


def test_the_person_behind_root_gets_nothing_by_their_name(as_: Open, noon: Any) -> None:
    give(as_(ADA), ADA, Role.PURGE, "bob", noon)
    root_for_bob = Account(login="root", host="here", user_id=0, person="bob")

    refused = as_(root_for_bob).permission(Act.PURGE)

    assert not refused.is_given
    assert "bob as root@here" in refused.reason


def test_whoever_brings_in_a_plan_while_roles_are_in_force_is_its_planner(as_: Open, noon: Any) -> None:
    ada = as_(ADA)
    with ada.writing(ADA.actor, noon) as writing:
        before = writing.save_plan("1" * 64, "{}", expires_at=noon)
    give(ada, ADA, Role.PLAN, "ada", noon)
    with ada.writing(ADA.actor, noon) as writing:
        during = writing.save_plan("2" * 64, "{}", expires_at=noon)
        vouched = writing.save_plan("1" * 64, "{}", expires_at=noon)
    with as_(BOB).writing(BOB.actor, noon) as writing:
        again = writing.save_plan("2" * 64, "{}", expires_at=noon)

    assert before.planner is None
    assert [saved.planner.actor for saved in (during, vouched, again) if saved.planner] == ["ada@here"] * 3
