"""What is read of a catalog is never less than what a protect or rule may match."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.decisions import Holds
from artifactctl.policy.evaluating import evaluate
from artifactctl.policy.facts import CatalogueView, ChildFacts, Facts
from artifactctl.policy.matching import matches
from artifactctl.policy.ruleset import Matcher, Policy
from artifactctl.policy.scope import Needed, Wanted, needed_by, scope_of
from tests.builders import NOON
from tests.policy.worlds import policies, policy, protect, rule, views


def is_wanted(wanted: Wanted, facts: Facts) -> bool:
    names = facts.name in wanted.names or facts.name.startswith(wanted.prefixes)
    return all(
        (
            not wanted.kinds or facts.kind in wanted.kinds,
            names or not (wanted.names or wanted.prefixes),
            wanted.created_after is None or facts.created_at > wanted.created_after,
            not wanted.superseded or facts.superseded or facts.successor_verified,
            not wanted.has_inputs or facts.rebuildable,
            wanted.created_until is None or facts.created_at <= wanted.created_until,
        )
    )


@given(rules=policies(), world=views(), days=st.integers(0, 30), later=st.integers(0, 30))
def test_everything_that_may_match_at_some_instant_is_in_the_scope(
    rules: Policy, world: CatalogueView, days: int, later: int
) -> None:
    until = NOON + timedelta(days=max(days, later))
    scope = scope_of((rules,), now=NOON, until=until)

    for facts in world.artifacts:
        for each in (*rules.protects, *rules.rules):
            if matches(each.match, facts, now=NOON + timedelta(days=later)) is not Holds.NO:
                assert any(is_wanted(wanted, facts) for wanted in scope)


def as_read(facts: Facts, needed: Needed) -> Facts:
    """Return the facts without everything that nobody asks for."""

    def asked(scope: tuple[Wanted, ...]) -> bool:
        return any(is_wanted(wanted, facts) for wanted in scope)

    unread: dict[str, object] = {}
    names = needed.metric_names or ()
    metrics = tuple(pair for pair in facts.metrics if pair[0] in names)
    unread |= {"metrics": metrics} if asked(needed.metrics) else {"metrics": (), "step": None}
    unread |= {} if asked(needed.children) else {"children": ()}
    unread |= {} if asked(needed.inputs) else {"rebuildable": False}
    unread |= {} if asked(needed.runs) else {"run": "", "run_state": None}
    unread |= {} if needed.paths else {"path": ""}
    return facts._replace(**unread)


@given(rules=policies(), world=views(), days=st.integers(0, 30))
def test_what_no_rule_or_protect_asks_for_decides_nothing(rules: Policy, world: CatalogueView, days: int) -> None:
    later = NOON + timedelta(days=days)
    needed = needed_by((rules,), now=NOON, until=later)
    less = replace(world, artifacts=tuple(as_read(facts, needed) for facts in world.artifacts))

    for now in (NOON, later):
        assert evaluate(rules, less, now=now) == evaluate(rules, world, now=now)


@given(rules=policies(), world=views())
def test_of_children_that_differ_in_their_names_alone_the_first_stands_for_all(
    rules: Policy, world: CatalogueView
) -> None:
    def first_of_each(facts: Facts) -> Facts:
        alike: dict[object, ChildFacts] = {}
        for child in sorted(facts.children, key=lambda child: child.name):
            alike.setdefault((child.kind, child.role, child.living, child.verified), child)
        return facts._replace(children=tuple(alike.values()))

    less = replace(world, artifacts=tuple(map(first_of_each, world.artifacts)))

    assert evaluate(rules, less, now=NOON) == evaluate(rules, world, now=NOON)


def test_names_narrow_the_scope_by_what_stands_before_the_first_wild_card() -> None:
    named = policy(
        rules=(rule(match=Matcher(names=("data/a", "data/b*c", "data/?"), kinds=(ArtifactKind.MODEL,))),),
        protects=(protect(names=("**/x", "data/y")),),
    )

    assert scope_of((named,), now=NOON, until=NOON) == (
        Wanted(),
        Wanted(kinds=(ArtifactKind.MODEL,), names=("data/a",), prefixes=("data/", "data/b")),
    )
    assert scope_of((policy(),), now=NOON, until=NOON) == ()
