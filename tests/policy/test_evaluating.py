"""One sentence a decision: the right word and the right words for each reason to keep, and to let go."""

from dataclasses import replace
from datetime import timedelta

import pytest

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState
from artifactctl.policy.decisions import Decision, Holds
from artifactctl.policy.evaluating import evaluate, explain
from artifactctl.policy.facts import ChildFacts, Facts
from artifactctl.policy.protecting import protects_of
from artifactctl.policy.ruleset import (
    Action,
    Keep,
    KeepBest,
    KeepEvery,
    KeepLast,
    Matcher,
    MetricMode,
    Policy,
    Relation,
    Require,
    RequireSuccessor,
)
from tests.builders import NOON
from tests.policy.worlds import METRIC, facts, policy, protect, rule, view

TRAINED = ChildFacts(
    name="data/draft",
    kind=ArtifactKind.CHECKPOINT,
    role=LineageRole.TRAINED_ON,
    living=True,
    verified=False,
)


def decide(rules: Policy, *artifacts: Facts) -> dict[int, Decision]:
    return dict(evaluate(rules, view(*artifacts), now=NOON).decisions)


def kept(rules: Policy, *artifacts: Facts) -> set[int]:
    return {number for number, decision in decide(rules, *artifacts).items() if decision.kept}


def only(rules: Policy, artifact: Facts) -> tuple[str, str]:
    decision = decide(rules, artifact)[artifact.artifact_id]
    return decision.because, decision.sentence


EVERYTHING = policy(rules=(rule(),))


def test_what_no_rule_matches_stays() -> None:
    assert only(policy(), facts(1)) == ("no_rule", "keep: no rule matches it")


def test_what_a_rule_matches_and_nothing_keeps_may_go() -> None:
    decision = decide(EVERYTHING, facts(1))[1]

    assert decision == Decision(
        action=Action.QUARANTINE,
        because="rule.checkpoints",
        sentence="quarantine: checkpoints offers it and nothing in the rule keeps it",
        rule="checkpoints",
    )


@pytest.mark.parametrize(
    ("changes", "because", "sentence"),
    [
        ({"held": True}, "builtin.held", "keep: somebody holds it"),
        ({"leased": True}, "builtin.leased", "keep: somebody uses it (a lease)"),
        ({"input_of_unfinished_run": True}, "builtin.unfinished_run", "keep: a run that has not ended reads it"),
        ({"complete": False}, "builtin.incomplete", "keep: its writer has not said that it is finished"),
        ({"live": False}, "builtin.not_live", "keep: it has no live copy, or one that is moving"),
        ({"age": timedelta(hours=3)}, "defaults.min_age", "keep: 3h old, and nothing younger than 1d may go"),
        ({"age": timedelta(days=-1)}, "defaults.min_age", "keep: 0s old, and nothing younger than 1d may go"),
    ],
)
def test_what_no_rule_can_offer(changes: dict[str, object], because: str, sentence: str) -> None:
    assert only(replace(EVERYTHING, min_age=timedelta(days=1)), facts(1, **changes)) == (because, sentence)


def test_a_built_in_protection_comes_before_a_protect_and_that_before_the_minimum_age() -> None:
    rules = replace(EVERYTHING, protects=(protect(),), min_age=timedelta(days=1))

    assert only(rules, facts(1, held=True, age=timedelta(0)))[0] == "builtin.held"
    assert only(rules, facts(1, age=timedelta(0)))[0] == "protect.released"


def test_a_protect_says_its_reason() -> None:
    rules = replace(EVERYTHING, protects=(protect(any_tag=("released", "prod/*")),))

    assert only(rules, facts(1, labels=(("tags", "x, prod/eu"),))) == (
        "protect.released",
        "keep: protected by released: shipped to serving",
    )
    assert only(rules, facts(1, labels=(("tags", "prod/eu/x"),)))[0] == "rule.checkpoints"


def test_a_protect_that_may_match_protects() -> None:
    rules = replace(EVERYTHING, protects=(protect(producer_states=(RunState.SUCCEEDED,)),))

    assert only(rules, facts(1)) == (
        "protect.released",
        "keep: protected by released: shipped to serving (producer.state missing, which protects)",
    )
    assert protects_of(rules, facts(1), now=NOON) == rules.protects[0]
    assert protects_of(rules, facts(1, run_state=RunState.FAILED), now=NOON) is None


def test_a_protect_ends_at_its_instant() -> None:
    until = replace(protect(), expires=NOON)
    rules = replace(EVERYTHING, protects=(until,))

    assert evaluate(rules, view(facts(1)), now=NOON - timedelta(seconds=1)).decisions[1].protected
    assert only(rules, facts(1))[0] == "rule.checkpoints"
    assert protects_of(rules, facts(1), now=NOON) is None


def test_only_the_first_rule_that_matches_is_asked() -> None:
    first = rule("first", keep=Keep(every=KeepEvery(steps=10)))
    rules = policy(rules=(first, rule("second")))

    assert only(rules, facts(1, step=20)) == ("keep.every", "keep: step 20 is a multiple of 10")
    assert decide(rules, facts(1, step=21), facts(2, step=30))[1].because == "rule.first"


def test_a_rule_that_may_match_keeps_and_no_later_rule_is_asked() -> None:
    first = rule("first", match=Matcher(producer_states=(RunState.SUCCEEDED,)))
    rules = policy(rules=(first, rule("second")))

    assert only(rules, facts(1)) == ("match_unknown", "keep: first may match it: producer.state missing")
    assert only(rules, facts(1, run_state=RunState.FAILED))[0] == "rule.second"


def test_an_unset_label_is_known_not_to_match() -> None:
    first = rule("first", match=Matcher(labels=(("team", ("x",)),)), keep=Keep(every=KeepEvery(steps=1)))

    assert only(policy(rules=(first, rule("second"))), facts(1))[0] == "rule.second"


LAST_TWO = policy(rules=(rule(keep=Keep(last=KeepLast(n=2, group_by=("run",)))),))


def test_the_last_are_those_with_the_highest_steps_as_numbers() -> None:
    artifacts = [facts(number, step=step) for number, step in enumerate((900, 1000, 10000), start=1)]

    assert kept(LAST_TWO, *artifacts) == {2, 3}
    assert decide(LAST_TWO, *artifacts)[2].sentence == "keep: no. 2 of the 2 newest of run r1"


def test_without_steps_the_last_are_the_youngest() -> None:
    assert kept(LAST_TWO, *(facts(number, age=timedelta(days=number)) for number in (3, 1, 2))) == {1, 2}


def test_where_only_some_have_a_step_what_either_order_keeps_stays() -> None:
    with_steps = [facts(1, step=300, age=timedelta(days=30)), facts(2, step=200, age=timedelta(days=29))]
    without = [facts(number, age=timedelta(days=number)) for number in (3, 4, 5)]

    assert kept(LAST_TWO, *with_steps, *without) == {1, 2, 3, 4}


def test_groups_are_counted_apart_and_what_has_none_is_kept() -> None:
    artifacts = [facts(number, step=number, run=f"r{number % 2}") for number in range(1, 7)]

    assert kept(LAST_TWO, *artifacts) == {3, 4, 5, 6}
    assert only(LAST_TWO, facts(1, run="")) == ("keep.last", "keep: run missing")


def test_an_incomplete_member_is_kept_and_takes_nobody_s_place() -> None:
    artifacts = [facts(number, step=number, complete=number < 4) for number in range(1, 6)]

    assert kept(LAST_TWO, *artifacts) == {2, 3, 4, 5}


def test_a_protected_member_keeps_its_place() -> None:
    artifacts = [facts(number, step=number, held=number == 3) for number in range(1, 4)]

    assert kept(LAST_TWO, *artifacts) == {2, 3}


@pytest.mark.parametrize(("mode", "best"), [(MetricMode.MAX, {2, 3}), (MetricMode.MIN, {1, 2})])
def test_the_best_are_those_of_the_metric_in_the_direction_that_was_said(mode: MetricMode, best: set[int]) -> None:
    keep = Keep(best=KeepBest(n=2, metric=METRIC, mode=mode, group_by=("run",)))
    artifacts = [facts(n, step=n, metrics=((METRIC, value),)) for n, value in enumerate((2.5, 9.5, 10.25), start=1)]

    assert kept(policy(rules=(rule(keep=keep),)), *artifacts) == best


def test_the_best_says_its_value_and_a_missing_metric_keeps() -> None:
    rules = policy(rules=(rule(keep=Keep(best=KeepBest(n=1, metric=METRIC, mode=MetricMode.MAX, group_by=("run",)))),))

    assert only(rules, facts(1, metrics=((METRIC, 3.4),))) == (
        "keep.best",
        "keep: the best of run r1 by eval/acceptance_len (max): 3.4",
    )
    assert only(rules, facts(1)) == ("keep.best", "keep: metric eval/acceptance_len missing")
    assert only(rules, facts(1, metrics=((METRIC, float("nan")),)))[1] == "keep: metric eval/acceptance_len missing"
    assert only(rules, facts(1, run="", metrics=((METRIC, 1.0),)))[1] == "keep: run missing"


def test_of_equally_good_ones_the_later_step_stays() -> None:
    rules = policy(rules=(rule(keep=Keep(best=KeepBest(n=1, metric=METRIC, mode=MetricMode.MIN, group_by=("run",)))),))

    assert kept(rules, *(facts(n, step=n, metrics=((METRIC, 1.0),)) for n in (9, 10, 8))) == {10}


@pytest.mark.parametrize(
    ("keep", "changes", "because", "sentence"),
    [
        (Keep(every=KeepEvery(steps=500)), {}, "keep.every", "keep: step missing"),
        (
            Keep(newer_than=timedelta(days=14)),
            {"age": timedelta(days=13, hours=1, minutes=5)},
            "keep.newer_than",
            "keep: 13d1h old, and what is newer than 14d stays",
        ),
        (
            Keep(needed_by=Relation(kinds=(ArtifactKind.CHECKPOINT,))),
            {"children": (TRAINED,)},
            "keep.needed_by",
            "keep: the checkpoint data/draft needs it (trained_on)",
        ),
    ],
)
def test_other_reasons_to_keep(keep: Keep, changes: dict[str, object], because: str, sentence: str) -> None:
    assert only(policy(rules=(rule(keep=keep),)), facts(1, **changes)) == (because, sentence)


@pytest.mark.parametrize(
    ("keep", "changes"),
    [
        (Keep(every=KeepEvery(steps=500)), {"step": 1001}),
        (Keep(newer_than=timedelta(days=14)), {"age": timedelta(days=14)}),
        (Keep(needed_by=Relation()), {"children": (replace(TRAINED, living=False),)}),
        (Keep(needed_by=Relation()), {"children": (replace(TRAINED, role=LineageRole.SUPERSEDES),)}),
        (Keep(needed_by=Relation(kinds=(ArtifactKind.DRAFT_MODEL,))), {"children": (TRAINED,)}),
        (Keep(needed_by=Relation(roles=(LineageRole.MAPPED_WITH,))), {"children": (TRAINED,)}),
    ],
)
def test_reasons_that_do_not_hold(keep: Keep, changes: dict[str, object]) -> None:
    newer = facts(2, step=2000, held=True)

    assert decide(policy(rules=(rule(keep=keep),)), facts(1, **changes), newer)[1].because == "rule.checkpoints"


SUCCESSOR = Require(
    successor=RequireSuccessor(relation=Relation(kinds=(ArtifactKind.CHECKPOINT,)), verified=True),
)
SUPERSEDED = Require(
    successor=RequireSuccessor(relation=Relation(roles=(LineageRole.SUPERSEDES,)), verified=True),
)


@pytest.mark.parametrize(
    ("require", "changes", "because", "sentence"),
    [
        (
            SUCCESSOR,
            {"children": (TRAINED,)},
            "require.successor",
            "keep: no living and verified checkpoint made from it is recorded",
        ),
        (
            SUPERSEDED,
            {"superseded": True},
            "require.successor",
            "keep: no living and verified artifact (supersedes) is recorded",
        ),
        (
            Require(rebuildable=True),
            {},
            "require.rebuildable",
            "keep: it cannot be built again from what is recorded and alive",
        ),
        (
            Require(min_copies=1),
            {"copies": 2, "verified_copies": 1},
            "require.min_copies",
            "keep: 0 verified copies would be left, and 1 must be",
        ),
        (
            Require(min_copies=2),
            {"copies": 2, "verified_copies": 2},
            "require.min_copies",
            "keep: 1 verified copy would be left, and 2 must be",
        ),
    ],
)
def test_what_is_required_and_not_there(
    require: Require, changes: dict[str, object], because: str, sentence: str
) -> None:
    assert only(policy(rules=(rule(require=require),)), facts(1, **changes)) == (because, sentence)


@pytest.mark.parametrize(
    ("require", "changes"),
    [
        (SUCCESSOR, {"children": (replace(TRAINED, verified=True),)}),
        (SUPERSEDED, {"superseded": True, "successor_verified": True}),
        (SUPERSEDED, {"children": (replace(TRAINED, role=LineageRole.SUPERSEDES, verified=True),)}),
        (Require(rebuildable=True), {"rebuildable": True}),
        (Require(min_copies=1), {"copies": 2, "verified_copies": 2}),
    ],
)
def test_what_is_required_and_there(require: Require, changes: dict[str, object]) -> None:
    assert only(policy(rules=(rule(require=require),)), facts(1, **changes))[0] == "rule.checkpoints"


MILESTONES = rule(keep=Keep(every=KeepEvery(steps=5000)))
TWO_RUNS = [
    facts(1, step=900, run="short"),
    facts(2, step=1000, run="short"),
    facts(3, step=5000, run="long"),
    facts(4, step=6000, run="long"),
]


def test_a_run_that_never_came_to_a_milestone_keeps_its_newest_unless_the_rule_lets_it_go_whole() -> None:
    decisions = decide(policy(rules=(MILESTONES,)), *TWO_RUNS)

    assert {number: decision.because for number, decision in decisions.items()} == {
        1: "rule.checkpoints",
        2: "empty_group",
        3: "keep.every",
        4: "rule.checkpoints",
    }
    assert decisions[2].sentence == "keep: the newest of run short, which would be empty without it"
    assert kept(policy(rules=(replace(MILESTONES, allow_empty_groups=True),)), *TWO_RUNS) == {3}


def test_what_belongs_to_no_run_may_be_the_last_of_one() -> None:
    stray = facts(1, step=900, run="")

    assert only(policy(rules=(MILESTONES,)), stray) == ("empty_group", "keep: run missing")
    assert only(policy(rules=(replace(MILESTONES, allow_empty_groups=True),)), stray)[0] == "rule.checkpoints"


def test_members_that_are_incomplete_leave_a_group_no_less_empty() -> None:
    unfinished = facts(5, step=5000, run="short", complete=False)

    assert decide(policy(rules=(MILESTONES,)), *TWO_RUNS, unfinished)[2].because == "empty_group"


def test_an_explanation_gives_every_verdict_in_order_and_marks_the_one_that_decided() -> None:
    rules = replace(
        LAST_TWO,
        protects=(protect(any_tag=("released",)),),
        rules=(rule("states", match=Matcher(kinds=(ArtifactKind.HIDDEN_STATES,))), *LAST_TWO.rules, rule("later")),
    )

    verdicts = explain(rules, view(facts(1, step=5)), 1, now=NOON)

    assert [(v.section, v.name, v.matches, v.sentence, v.decided) for v in verdicts] == [
        ("protect", "released", Holds.NO, "tags is none, not released", False),
        ("rules", "states", Holds.NO, "kind is checkpoint, not hidden_states", False),
        ("rules", "checkpoints", Holds.YES, "keep: no. 1 of the 2 newest of run r1", True),
        ("rules", "later", Holds.YES, "not asked: checkpoints comes first", False),
    ]
    with pytest.raises(KeyError):
        explain(rules, view(), 1, now=NOON)


def test_an_explanation_tells_what_the_rule_would_say_of_a_protected_artifact() -> None:
    rules = replace(EVERYTHING, protects=(replace(protect("old"), expires=NOON), protect()))

    verdicts = explain(rules, view(facts(1, held=True)), 1, now=NOON)

    assert [(v.name, v.sentence, v.decided) for v in verdicts] == [
        ("held", "keep: somebody holds it", True),
        ("old", "expired 2026-11-30 12:00 UTC", False),
        ("released", "it asks nothing", False),
        ("checkpoints", "quarantine: checkpoints offers it and nothing in the rule keeps it", False),
    ]
