"""What a change of policy does to which artifacts, and when."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.plans import Cap, CapName
from artifactctl.policy.comparing import Change, Comparison, Effect
from artifactctl.policy.differing import HORIZONS, Candidate, Impact, PolicyDifference, Risk, differ
from artifactctl.policy.edits import Edit, Mark, edits_between
from artifactctl.policy.evaluating import Hearing
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.ruleset import Keep, KeepEvery, KeepLast, Limits, Matcher, Policy
from tests.builders import NOON
from tests.policy.worlds import facts, policies, policy, protect, rule, view, views

KEEPS_THREE = policy(rules=(rule(keep=Keep(last=KeepLast(n=3, group_by=("run",)))),))
KEEPS_ONE = policy(rules=(rule(keep=Keep(last=KeepLast(n=1, group_by=("run",)))),))


def names(changes: tuple[Change, ...]) -> list[int]:
    return [change.facts.artifact_id for change in changes]


def now_in(old: Policy, new: Policy, *artifacts: Facts) -> Impact:
    return difference(old, new, *artifacts).impacts[0]


def difference(old: Policy, new: Policy, *artifacts: Facts) -> PolicyDifference:
    world = replace(view(*artifacts), living={ArtifactKind.CHECKPOINT: len(artifacts)})
    return compared(old, new, world)


def compared(old: Policy, new: Policy, world: CatalogueView) -> PolicyDifference:
    """Return the difference where nothing is configured beside the files."""
    return differ(Candidate(written=old, standing=old), Candidate(written=new, standing=new), world)


CHECKPOINTS = [facts(number, step=number, allocated_bytes=1000 + number) for number in range(1, 5)]


def test_what_goes_newly_and_what_is_newly_kept_are_named_the_largest_first() -> None:
    tighter = now_in(KEEPS_THREE, KEEPS_ONE, *CHECKPOINTS)
    looser = now_in(KEEPS_ONE, KEEPS_THREE, *CHECKPOINTS)

    assert names(tighter.changes[Effect.NEWLY_RECLAIMED]) == [3, 2]
    assert names(looser.changes[Effect.NEWLY_KEPT]) == [3, 2]
    assert (tighter.changes[Effect.NEWLY_KEPT], looser.changes[Effect.NEWLY_RECLAIMED]) == ((), ())


def test_another_reason_for_the_same_decision_is_said() -> None:
    by_steps = policy(rules=(rule(keep=Keep(every=KeepEvery(steps=1))),))

    found = now_in(KEEPS_THREE, by_steps, CHECKPOINTS[0]).changes[Effect.REASON_CHANGED]

    assert [(change.before.because, change.after.because) for change in found] == [("keep.last", "keep.every")]


def test_a_lost_protection_is_listed_whatever_else_keeps_the_artifact() -> None:
    guarded = replace(KEEPS_THREE, protects=(protect(any_tag=("released",)),))
    tagged = [each._replace(labels=(("tags", "released"),)) for each in CHECKPOINTS]
    held = tagged[3]._replace(held=True)

    found = now_in(guarded, KEEPS_ONE, tagged[0], tagged[2], held)

    assert [(change.facts.artifact_id, change.protect) for change in found.changes[Effect.LOST_PROTECTION]] == [
        (4, "released"),
        (3, "released"),
        (1, "released"),
    ]
    assert names(found.changes[Effect.NEWLY_RECLAIMED]) == [3, 1]
    assert names(found.changes[Effect.REASON_CHANGED]) == []


def test_an_edit_that_bites_next_week_is_seen_today() -> None:
    patient = policy(rules=(rule(keep=Keep(newer_than=timedelta(days=60))),))
    hasty = policy(rules=(rule(keep=Keep(newer_than=timedelta(days=45))),))

    found = difference(patient, hasty, facts(1), facts(2, age=timedelta(days=10)))

    assert [names(impact.changes[Effect.NEWLY_RECLAIMED]) for impact in found.impacts] == [[], [1], []]
    assert [impact.at - NOON for impact in found.impacts] == list(HORIZONS)
    assert found.risk is Risk.MODERATE


def test_what_joins_later_is_named_with_its_day() -> None:
    patient = policy(rules=(rule(keep=Keep(newer_than=timedelta(days=60))),))
    hasty = policy(rules=(rule(keep=Keep(newer_than=timedelta(days=30))),))
    ages = {1: 40.0, 2: 25.0, 3: 20.0, 4: 2.0, 5: 0.25, 6: 25.5}
    artifacts = [facts(number, age=timedelta(days=days)) for number, days in ages.items()]

    found = difference(patient, hasty, *artifacts)

    assert names(found.impacts[0].changes[Effect.NEWLY_RECLAIMED]) == [1]
    assert [(each.effect, each.change.facts.artifact_id, each.on - NOON.date()) for each in found.joining] == [
        (Effect.NEWLY_RECLAIMED, 2, timedelta(days=5)),
        (Effect.NEWLY_RECLAIMED, 3, timedelta(days=10)),
        (Effect.NEWLY_RECLAIMED, 4, timedelta(days=28)),
        (Effect.NEWLY_RECLAIMED, 5, timedelta(days=30)),
        (Effect.NEWLY_RECLAIMED, 6, timedelta(days=5)),
    ]


def test_what_joins_because_others_of_its_group_come_of_age_is_named_with_that_day() -> None:
    def newest_of_old_ones(n: int) -> Policy:
        match = Matcher(older_than=timedelta(days=30))
        return policy(rules=(rule(match=match, keep=Keep(last=KeepLast(n=n, group_by=("run",)))),))

    old = [facts(1, step=1, age=timedelta(days=50)), facts(2, step=2, age=timedelta(days=18))]
    elsewhere = facts(3, step=3, run="r2", age=timedelta(days=20))

    found = difference(newest_of_old_ones(2), newest_of_old_ones(1), *old, elsewhere)

    reclaimed = [each for each in found.joining if each.effect is Effect.NEWLY_RECLAIMED]
    assert [(each.change.facts.artifact_id, each.on - NOON.date()) for each in reclaimed] == [(1, timedelta(days=12))]


@given(old=policies(), new=policies(), world=views())
def test_whatever_joins_is_untouched_before_its_day_and_touched_on_it(
    old: Policy, new: Policy, world: CatalogueView
) -> None:
    for each in compared(old, new, world).joining:
        midnight = NOON.replace(hour=0) + (each.on - NOON.date())
        before = max(midnight - timedelta(microseconds=1), NOON)
        end = min(midnight + timedelta(days=1, microseconds=-1), NOON + HORIZONS[-1])
        effects = [
            {effect for effect, _ in Comparison(old, new, Hearing(world), now=now).changes(each.change.facts)}
            for now in (before, end)
        ]
        assert [each.effect in found for found in effects] == [False, True]


def test_removed_rules_and_protects_are_always_said_with_what_they_decided_about() -> None:
    old = replace(KEEPS_THREE, protects=(protect("nothing", any_tag=("x",)),))

    found = difference(old, policy(), *CHECKPOINTS)

    assert [
        (each.section, each.name, [item.artifact_id for item in each.artifacts]) for each in found.impacts[0].removed
    ] == [("protect", "nothing", []), ("rules", "checkpoints", [4, 3, 2, 1])]
    assert found.loses_protection
    assert found.risk is Risk.SEVERE


def test_a_protect_under_another_name_is_no_loss_unless_it_ends_sooner() -> None:
    old = replace(KEEPS_THREE, protects=(protect("one"),))
    renamed = replace(old, protects=(protect("two"),))
    shorter = replace(old, protects=(replace(protect("two"), expires=NOON + timedelta(days=20)),))

    assert not difference(old, renamed, *CHECKPOINTS).loses_protection
    ending = difference(old, shorter, *CHECKPOINTS)
    assert ending.loses_protection
    assert [len(impact.changes[Effect.LOST_PROTECTION]) for impact in ending.impacts] == [0, 0, 4]


def test_limits_that_the_new_policy_goes_over_refuse_the_run_unless_the_old_one_did_just_so() -> None:
    limited = Limits(max_bytes=2500, max_artifacts=2, max_share_of_kind=0.1)
    tight = replace(KEEPS_ONE, limits=limited)

    found = difference(KEEPS_THREE, tight, *CHECKPOINTS)

    assert found.impacts[0].exceeded == (
        Cap(name=CapName.BYTES, limit=2500, used=3006),
        Cap(name=CapName.ARTIFACTS, limit=2, used=3),
    )
    assert (found.refused, found.risk) == (True, Risk.SEVERE)
    assert not difference(tight, tight, *CHECKPOINTS).refused


def test_every_copy_counts_against_the_limits_as_in_a_plan() -> None:
    tight = replace(KEEPS_ONE, limits=Limits(max_bytes=10**6, max_artifacts=2))
    copies = [each._replace(copies=2) for each in CHECKPOINTS[:2]]

    assert difference(KEEPS_THREE, tight, *copies).impacts[0].exceeded == ()
    assert difference(KEEPS_THREE, tight, *copies, CHECKPOINTS[2]).impacts[0].exceeded == (
        Cap(name=CapName.ARTIFACTS, limit=2, used=4),
    )


def test_what_is_configured_beside_the_files_counts_and_what_was_written_is_told() -> None:
    beside = protect("site", any_tag=("released",))
    removing = replace(KEEPS_THREE, protects=(protect("site", any_tag=("prod",)),))
    tagged = [each._replace(labels=(("tags", "released"),)) for each in CHECKPOINTS]

    def standing(written: Policy) -> Candidate:
        limits = replace(written.limits, max_artifacts=1)
        return Candidate(
            written=written, standing=replace(written, protects=(beside, *written.protects), limits=limits)
        )

    world = replace(view(*tagged[:2], CHECKPOINTS[2], tagged[3]), living={ArtifactKind.CHECKPOINT: 4})
    found = differ(standing(removing), standing(KEEPS_ONE), world)

    assert names(found.impacts[0].changes[Effect.NEWLY_RECLAIMED]) == [3], "the configured protect covers the other one"
    assert found.loses_protection, "one of the same name in the files is gone all the same"
    assert [(edit.section, edit.name) for edit in found.edits] == [("protect", "site"), ("rules", "checkpoints")]
    assert [(edit.section, edit.name, edit.what) for edit in found.configured] == [
        ("protect", "site", beside.reason),
        ("limits", "max_artifacts", "1"),
    ]


@pytest.mark.parametrize(
    ("new", "edits"),
    [
        (KEEPS_THREE, ()),
        (KEEPS_ONE, (Edit(section="rules", mark=Mark.CHANGED, name="checkpoints", what="keep.last.n 3 -> 1"),)),
        (
            policy(protects=(protect(),)),
            (
                Edit(section="protect", mark=Mark.ADDED, name="released"),
                Edit(section="rules", mark=Mark.REMOVED, name="checkpoints", what="REMOVED"),
            ),
        ),
        (
            replace(KEEPS_THREE, min_age=timedelta(hours=36), limits=Limits(max_bytes=1 << 60, max_artifacts=5)),
            (
                Edit(section="defaults", mark=Mark.CHANGED, name="min_age", what="0s -> 1d12h"),
                Edit(section="limits", mark=Mark.CHANGED, name="max_artifacts", what="1000000 -> 5"),
            ),
        ),
    ],
)
def test_edits_are_said_field_by_field(new: Policy, edits: tuple[Edit, ...]) -> None:
    assert edits_between(KEEPS_THREE, new) == edits


def test_another_order_of_rules_is_an_edit() -> None:
    first, second = rule("first"), rule("second", match=Matcher())

    found = edits_between(policy(rules=(first, second)), policy(rules=(second, first)))

    assert found == (Edit(section="rules", mark=Mark.CHANGED, name="order", what="now second, first"),)


@given(rules=policies(), world=views())
def test_a_policy_does_not_differ_from_itself(rules: Policy, world: CatalogueView) -> None:
    found = compared(rules, rules, world)

    assert (found.edits, found.loses_protection, found.refused, found.risk) == ((), False, False, Risk.MILD)
    for impact in found.impacts:
        assert (
            names(
                (
                    *impact.changes[Effect.NEWLY_RECLAIMED],
                    *impact.changes[Effect.NEWLY_KEPT],
                    *impact.changes[Effect.LOST_PROTECTION],
                )
            )
            == []
        )
        assert names(impact.changes[Effect.REASON_CHANGED]) == []


@given(old=policies(), new=policies(), world=views())
def test_the_way_back_is_the_reverse(old: Policy, new: Policy, world: CatalogueView) -> None:
    there, back = compared(old, new, world), compared(new, old, world)

    for one, other in zip(there.impacts, back.impacts, strict=True):
        assert names(one.changes[Effect.NEWLY_RECLAIMED]) == names(other.changes[Effect.NEWLY_KEPT])
        assert names(one.changes[Effect.NEWLY_KEPT]) == names(other.changes[Effect.NEWLY_RECLAIMED])
