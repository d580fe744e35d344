"""Who may do what, and who is another person: decisions about values."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.accounts import Account, Signature, is_another, names_in
from artifactctl.domain.errors import UsageError
from artifactctl.domain.roles import (
    RULES,
    Act,
    Grant,
    Identity,
    Role,
    Subject,
    SubjectKind,
    may_administer_without,
    permits,
    roles_of,
    subject_from,
    subject_meant,
)
from artifactctl.domain.verdicts import Verdict

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ADA = Subject(kind=SubjectKind.ACCOUNT, name="ada")
BOB = Subject(kind=SubjectKind.ACCOUNT, name="bob")


def identity(*subjects: Subject, owns_catalog: bool = False) -> Identity:
    return Identity(
        self_subject=subjects[0], subjects=frozenset(subjects), shown=subjects[0].name, owns_catalog=owns_catalog
    )


def granted(*pairs: tuple[Role, Subject]) -> tuple[Grant, ...]:
    return tuple(
        Grant(grant_id=number, role=role, subject=subject, granted_by="ada@h", granted_at=NOON, reason="")
        for number, (role, subject) in enumerate(pairs)
    )


grants = st.lists(st.tuples(st.sampled_from(Role), st.sampled_from([ADA, BOB])), max_size=8).map(
    lambda pairs: granted(*pairs)
)


def test_every_act_has_a_rule_and_every_role_an_act() -> None:
    assert set(RULES) == set(Act)
    assert {rule.role for rule in RULES.values()} == set(Role)


@pytest.mark.parametrize("act", Act)
def test_without_any_role_everybody_may_do_everything(act: Act) -> None:
    assert permits((), identity(BOB), act).is_given
    assert permits((), None, act).is_given


@pytest.mark.parametrize("act", Act)
def test_where_roles_are_in_force_nobody_known_is_nobody_permitted(act: Act) -> None:
    everything = granted(*((role, ADA) for role in Role))

    assert permits(everything, None, act).verdict is Verdict.UNKNOWN
    assert permits(everything, identity(BOB), act).verdict is Verdict.BLOCKED
    assert permits(everything, identity(ADA), act).verdict is Verdict.CLEAR


@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize("role", Role)
def test_a_role_permits_its_own_acts_and_no_others(act: Act, role: Role) -> None:
    one = granted((role, BOB))

    assert permits(one, identity(BOB), act).is_given == (RULES[act].role is role)


def test_a_refusal_names_who_what_and_which_role_is_missing() -> None:
    refused = permits(granted((Role.APPLY, ADA)), identity(BOB), Act.PURGE)

    assert refused.reason == "bob may not purge artifacts: that takes the role `purge`"
    assert refused.role is Role.PURGE


@given(grants, st.sampled_from(Act))
def test_the_owner_of_the_catalog_may_always_administer_and_nothing_else_for_that(
    some: tuple[Grant, ...], act: Act
) -> None:
    as_owner, as_anybody = (permits(some, identity(BOB, owns_catalog=owns), act) for owns in (True, False))

    assert as_owner.is_given == (as_anybody.is_given or RULES[act].role is Role.ADMINISTER)


@given(grants, grants, st.sampled_from(Act))
def test_another_grant_takes_nothing_away_once_roles_are_in_force(
    some: tuple[Grant, ...], more: tuple[Grant, ...], act: Act
) -> None:
    if some and permits(some, identity(BOB), act).is_given:
        assert permits((*some, *more), identity(BOB), act).is_given


@given(grants)
def test_whoever_may_take_a_grant_away_may_administer_afterwards(some: tuple[Grant, ...]) -> None:
    for gone in some:
        left = tuple(grant for grant in some if grant != gone)
        if may_administer_without(some, [gone], identity(ADA)):
            assert permits(left, identity(ADA), Act.CHANGE_ROLES).is_given


def test_a_group_and_an_account_on_one_machine_are_met_where_they_are() -> None:
    ml = subject_from("group:ml", on_a_server=False)
    on_gpu1 = subject_from("ada@gpu1", on_a_server=False)

    assert ml == Subject(kind=SubjectKind.GROUP, name="ml")
    assert str(ml) == "group:ml"
    assert roles_of(granted((Role.PLAN, ml), (Role.PURGE, on_gpu1)), identity(ADA, ml)) == {Role.PLAN}
    assert roles_of(granted((Role.PLAN, ml), (Role.PURGE, on_gpu1)), identity(ADA, on_gpu1)) == {Role.PURGE}


def test_what_a_file_granted_can_be_taken_back_after_its_catalog_moved_to_a_server() -> None:
    ml = Subject(kind=SubjectKind.GROUP, name="ml")
    moved = granted((Role.PURGE, ADA), (Role.PURGE, ml))

    assert subject_meant("ada", moved, on_a_server=True) == ADA
    assert subject_meant("group:ml", moved, on_a_server=True) == ml
    assert subject_meant("bob", moved, on_a_server=True).kind is SubjectKind.DATABASE_ROLE


@pytest.mark.parametrize("word", ["", " ", "ada ", "group:", "user:ada", "a\nb", "group:a:b"])
def test_a_word_that_names_nobody_is_an_error_that_says_what_to_write(word: str) -> None:
    with pytest.raises(UsageError, match="names nobody") as caught:
        subject_from(word, on_a_server=False)

    assert "group:ml" in caught.value.remedy


def test_a_database_server_takes_its_own_roles_only() -> None:
    assert subject_from("ml_team", on_a_server=True) == Subject(kind=SubjectKind.DATABASE_ROLE, name="ml_team")
    with pytest.raises(UsageError, match="knows no group `ml`"):
        subject_from("group:ml", on_a_server=True)


def test_an_actor_names_the_account_and_the_person_behind_it() -> None:
    account = Account(login="root", host="gpu1", user_id=0, person="ada")

    assert account.actor == "ada as root@gpu1"
    assert names_in(account.actor) == {"ada", "root"}
    assert names_in("ada@gpu1") == {"ada"}
    assert Account(login="ada", host="gpu1", user_id=1000, person="ada").actor == "ada@gpu1"


@pytest.mark.parametrize(
    ("planner", "approver", "counts"),
    [
        ("ada@gpu1", "bob@gpu1", True),
        ("ada@gpu1", "ada@gpu1", False),
        ("ada@gpu1", "ada@laptop", False),
        ("ada@gpu1", "ada as root@gpu1", False),
        ("ada as root@gpu1", "bob as root@gpu1", False),
        ("ada as root@gpu1", "root@gpu1", False),
        ("ada as root@gpu1", "ada@gpu1", False),
        ("ada as root@gpu1", "bob@gpu1", True),
    ],
)
def test_who_shares_an_account_or_a_name_is_not_another(planner: str, approver: str, counts: bool) -> None:
    assert is_another(Signature(actor=planner), Signature(actor=approver)) is counts
    assert is_another(Signature(actor=approver), Signature(actor=planner)) is counts


def test_a_server_knows_who_logged_in_whatever_the_machines_say() -> None:
    ada, bob, unknown = (Signature(actor="root@laptop", database_user=user) for user in ("ada", "bob", ""))

    assert is_another(ada, bob)
    assert not is_another(ada, Signature(actor="bob@laptop", database_user="ada"))
    assert not is_another(ada, unknown), "what was recorded without a login may be anybody's"
