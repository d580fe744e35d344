"""What must hold of every policy and every catalogue."""

import locale
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.policy.decisions import Holds
from artifactctl.policy.evaluating import Hearing, evaluate, explain
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.grouping import group_of
from artifactctl.policy.matching import matches, matching
from artifactctl.policy.ruleset import KeepBest, KeepLast, Matcher, Policy, Protect
from tests.builders import NOON
from tests.policy.worlds import facts as some_facts
from tests.policy.worlds import matchers, policies, policy, rule, view, views

places = st.integers(0, 5)
NO_AGE = timedelta(0)


def offered(rules: Policy, world: CatalogueView) -> set[int]:
    return set(evaluate(rules, world, now=NOON).offered)


@given(rules=policies(), world=views(), match=matchers, place=places)
def test_adding_a_protect_never_offers_more(rules: Policy, world: CatalogueView, match: Matcher, place: int) -> None:
    more = Protect(name="more", reason="somebody said so", match=match)
    protects = (*rules.protects[:place], more, *rules.protects[place:])

    assert offered(replace(rules, protects=protects), world) <= offered(rules, world)


@given(rules=policies(), world=views(), days=st.integers(0, 60))
def test_a_longer_minimum_age_never_offers_more(rules: Policy, world: CatalogueView, days: int) -> None:
    older = replace(rules, min_age=rules.min_age + timedelta(days=days))

    assert offered(older, world) <= offered(rules, world)


@given(rules=policies(), world=views(), data=st.data())
def test_the_order_of_the_artifacts_changes_nothing(rules: Policy, world: CatalogueView, data: st.DataObject) -> None:
    shuffled = replace(world, artifacts=data.draw(st.permutations(world.artifacts)))

    assert evaluate(rules, shuffled, now=NOON) == evaluate(rules, world, now=NOON)


@given(rules=policies(), world=views())
def test_every_artifact_gets_one_decision_and_the_explanation_names_it(rules: Policy, world: CatalogueView) -> None:
    decisions = evaluate(rules, world, now=NOON).decisions

    assert set(decisions) == {facts.artifact_id for facts in world.artifacts}
    for artifact_id, decision in decisions.items():
        verdicts = explain(rules, world, artifact_id, now=NOON)
        assert [verdict.sentence for verdict in verdicts if verdict.decided] == [decision.sentence]
        assert [v.name for v in verdicts if v.section == "protect"] == [each.name for each in rules.protects]
        assert [v.name for v in verdicts if v.section == "rules" and v.name != "no_rule"] == [
            each.name for each in rules.rules
        ]


@given(asked=matchers, world=views())
def test_what_artifacts_have_in_common_is_answered_as_if_each_were_asked_alone(
    asked: Matcher, world: CatalogueView
) -> None:
    together = matching(asked, now=NOON)

    for facts in world.artifacts:
        assert together.answer(facts) is matching(asked, now=NOON).answer(facts)
        outcomes = [condition.test(facts) for condition in together.conditions]
        expected = Holds.NO if False in outcomes else Holds.UNKNOWN if None in outcomes else Holds.YES
        assert together.answer(facts) is expected


@given(asked=matchers, world=views(), data=st.data())
def test_a_condition_looks_at_no_other_field_than_it_says(
    asked: Matcher, world: CatalogueView, data: st.DataObject
) -> None:
    for condition in matching(asked, now=NOON).conditions:
        for facts in world.artifacts:
            other = data.draw(st.sampled_from(world.artifacts))
            alike = other._replace(**{condition.reads: getattr(facts, condition.reads)})
            assert condition.test(alike) is condition.test(facts)


@given(rules=st.lists(policies(), max_size=3), world=views())
def test_policies_that_are_evaluated_together_decide_what_each_decides_alone(
    rules: list[Policy], world: CatalogueView
) -> None:
    changed = [replace(each, rules=each.rules[::-1]) for each in rules] + [
        replace(each, min_age=NO_AGE) for each in rules
    ]
    policies_of_all = (*rules, *changed)

    hearing = Hearing(world)
    instants = [NOON, NOON + timedelta(days=7), NOON]

    for now, each in product(instants, policies_of_all):
        assert hearing.evaluate(each, now=now) == evaluate(each, world, now=now)


@given(rules=policies(), world=views())
def test_what_is_offered_is_live_complete_old_enough_and_nobody_s(rules: Policy, world: CatalogueView) -> None:
    for artifact_id in offered(rules, world):
        facts = world.artifacts[artifact_id - 1]
        assert facts.live
        assert facts.complete
        assert not any((facts.held, facts.leased, facts.input_of_unfinished_run))
        assert NOON - facts.created_at >= rules.min_age
        assert all(matches(each.match, facts, now=NOON) is Holds.NO for each in rules.protects)


@given(rules=policies(), world=views())
def test_what_is_unknown_to_the_first_rule_that_may_match_is_kept(rules: Policy, world: CatalogueView) -> None:
    going = offered(rules, world)
    for facts in world.artifacts:
        answers = (matches(each.match, facts, now=NOON) for each in rules.rules)
        first = next((answer for answer in answers if answer is not Holds.NO), Holds.NO)
        assert facts.artifact_id not in going or first is Holds.YES


@given(rules=policies(), world=views())
def test_a_group_never_keeps_fewer_than_its_number(rules: Policy, world: CatalogueView) -> None:
    decisions = evaluate(rules, world, now=NOON).decisions
    for each in rules.rules:
        members = [
            facts
            for facts in world.artifacts
            if facts.complete and facts.live and first_rule(rules, facts) == (each.name, Holds.YES)
        ]
        for keep in (each.keep.last, each.keep.best):
            if keep is None:
                continue
            for group in groups(keep, members):
                left = [facts for facts in group if decisions[facts.artifact_id].kept]
                assert len(left) >= min(keep.n, len(group))


@given(rules=policies(), world=views())
def test_no_run_goes_whole_where_every_so_many_steps_are_kept_unless_it_is_allowed(
    rules: Policy, world: CatalogueView
) -> None:
    going = offered(rules, world)
    for each in rules.rules:
        if each.keep.every is None or each.allow_empty_groups:
            continue
        matched = [facts for facts in world.artifacts if first_rule(rules, facts) == (each.name, Holds.YES)]
        of_runs = groups(
            KeepLast(n=1, group_by=("run",)), [facts for facts in matched if facts.complete and facts.live]
        )
        assert all(any(facts.artifact_id not in going for facts in group) for group in of_runs)


def first_rule(rules: Policy, facts: Facts) -> tuple[str, Holds]:
    for each in rules.rules:
        answer = matches(each.match, facts, now=NOON)
        if answer is not Holds.NO:
            return each.name, answer
    return "", Holds.NO


def groups(keep: KeepLast | KeepBest, members: list[Facts]) -> list[list[Facts]]:
    found = defaultdict(list)
    for facts in members:
        values = group_of(facts, keep.group_by)
        if all(values):
            found[values].append(facts)
    return list(found.values())


@pytest.mark.parametrize("name", ["C", "C.UTF-8", "tr_TR.UTF-8", "de_DE.UTF-8"])
def test_the_locale_changes_nothing(name: str) -> None:
    rules = policy(rules=(rule(match=Matcher(names=("data/I*",))),))
    world = view(
        *(
            some_facts(number, name=word)
            for number, word in enumerate(("data/Ix", "data/\N{LATIN SMALL LETTER DOTLESS I}x", "data/ix"), 1)
        )
    )
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        pytest.skip(f"this machine has no locale {name}")
    try:
        assert offered(rules, world) == {1}
    finally:
        locale.setlocale(locale.LC_ALL, before)
