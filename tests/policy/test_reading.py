"""What policy files mean, alone and together."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.configuration.policy_files import shipped_default
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState
from artifactctl.domain.errors import ExitCode, UsageError
from artifactctl.policy.findings import PolicyUnusable
from artifactctl.policy.linting import lint
from artifactctl.policy.reading import load_policy, read_policy
from artifactctl.policy.ruleset import Action, Keep, KeepBest, KeepEvery, KeepLast, MetricMode, Relation
from tests.builders import NOON
from tests.policy.written import DESIGN_EXAMPLE, policy_text

TIB = 1 << 40


def test_the_example_of_the_design_means_what_it_says() -> None:
    policy = load_policy([("eagle3.yaml", DESIGN_EXAMPLE)])

    assert (policy.name, policy.owner) == ("eagle3-cluster", "ml-infra")
    assert (policy.min_age, policy.grace) == (timedelta(hours=24), timedelta(days=7))
    assert policy.limits.max_bytes == 20 * TIB
    assert (policy.limits.max_share_of_kind, policy.limits.approval_above_bytes) == (0.3, 5 * TIB)
    released, pinned = policy.protects
    assert released.match.any_tag == ("released", "prod/*")
    assert pinned.expires == datetime(2027, 3, 1, tzinfo=UTC)
    states, checkpoints = policy.rules
    assert states.match.producer_states == (RunState.SUCCEEDED,)
    assert states.keep == Keep(
        last=KeepLast(n=1, group_by=("labels.target_model", "labels.corpus")), newer_than=timedelta(days=14)
    )
    assert states.require.successor is not None
    assert states.require.successor.relation == Relation(kinds=(ArtifactKind.CHECKPOINT,))
    best = KeepBest(n=3, metric="eval/acceptance_len", mode=MetricMode.MAX, group_by=("run",))
    assert checkpoints.keep == Keep(last=KeepLast(n=2, group_by=("run",)), best=best, every=KeepEvery(steps=5000))
    assert str(checkpoints.place) == "eagle3.yaml:39:5"


def test_a_relation_is_any_child_a_successor_or_a_role() -> None:
    policy = load_policy(
        [
            (
                "a.yaml",
                policy_text(
                    rules="""
                    - name: a
                      match: {kind: vocab_map}
                      keep: {needed_by: {kind: [draft_model, checkpoint], relation: mapped_with}}
                    - {name: b, match: {kind: other}, require: {successor: {relation: supersedes}}, action: archive}
                    """
                ),
            )
        ]
    )

    first, second = policy.rules
    assert first.keep.needed_by == Relation(
        kinds=(ArtifactKind.DRAFT_MODEL, ArtifactKind.CHECKPOINT), roles=(LineageRole.MAPPED_WITH,)
    )
    assert second.require.successor is not None
    assert second.require.successor.relation == Relation(roles=(LineageRole.SUPERSEDES,))
    assert second.action is Action.ARCHIVE


def test_the_shipped_default_is_the_built_in_policy() -> None:
    policy = shipped_default()

    assert [rule.name for rule in policy.rules] == ["superseded", "rebuildable"]
    assert (policy.limits.max_bytes, policy.limits.max_artifacts) == (20 * TIB, 500)
    assert (policy.quiet_time, policy.grace, policy.min_age) == (
        timedelta(minutes=15),
        timedelta(days=7),
        timedelta(0),
    )
    assert policy.limits.max_share_of_kind is None
    assert policy.limits.approval_above_bytes is None


def test_what_cannot_be_followed_is_an_error_that_lists_every_place() -> None:
    with pytest.raises(PolicyUnusable) as caught:
        load_policy([("b.yaml", policy_text(limits="{max_bytes: 5g, max_artifacts: 1}")), ("a.yaml", "no: yes\n")])

    assert caught.value.exit_code is ExitCode.USAGE
    assert [str(item.place) for item in caught.value.findings][-1] == "b.yaml:3:10"
    assert caught.value.message.startswith("a.yaml:1:1: AP001")
    assert caught.value.further[-1].startswith("b.yaml:3:10: AP020")
    assert "b.yaml:3:10: AP020" in str(caught.value.findings[-1])


def test_no_file_at_all_is_an_error() -> None:
    with pytest.raises(UsageError):
        load_policy([])


FILES = {
    "a.yaml": policy_text(
        name="a",
        limits="{max_bytes: 3TiB, max_artifacts: 10, max_share_of_kind: 30%}",
        protect="[{name: p, reason: long enough, match: {pinned: true}}]",
        rules="[{name: r1, match: {kind: other}}]",
    ),
    "b.yaml": policy_text(
        name="b",
        defaults="{quarantine: 3d, min_age: 2h, action: archive}",
        limits="{max_bytes: 2TiB, max_artifacts: 20, per_day: {max_bytes: 4TiB}}",
        rules="[{name: r2, match: {kind: model}}, {name: r0, match: {kind: other}}]",
    ),
    "c.yaml": policy_text(name="c", defaults="{quiet_time: 1h}", limits="{max_bytes: 9TiB, max_artifacts: 5}"),
}


def test_of_several_files_the_strictest_limit_and_the_longest_wait_hold() -> None:
    policy = load_policy(list(FILES.items()))

    assert (policy.limits.max_bytes, policy.limits.max_artifacts) == (2 * TIB, 5)
    assert (policy.limits.max_share_of_kind, policy.limits.max_bytes_per_day) == (0.3, 4 * TIB)
    assert (policy.grace, policy.min_age, policy.quiet_time) == (
        timedelta(days=7),  # two files say nothing, which means a week
        timedelta(hours=2),
        timedelta(hours=1),
    )
    assert [rule.name for rule in policy.rules] == ["r1", "r2", "r0"]
    assert [rule.action for rule in policy.rules] == [Action.QUARANTINE, Action.ARCHIVE, Action.ARCHIVE]
    assert [protect.name for protect in policy.protects] == ["p"]


@given(st.permutations(sorted(FILES)))
def test_the_order_in_which_files_are_handed_in_does_not_matter(names: list[str]) -> None:
    files = [(name, FILES[name]) for name in names]

    assert load_policy(files) == load_policy(sorted(FILES.items()))
    assert lint(read_policy(files), now=NOON) == lint(read_policy(sorted(FILES.items())), now=NOON)


@given(st.sets(st.sampled_from(sorted(FILES)), min_size=1), st.sampled_from(sorted(FILES)))
def test_another_file_never_loosens_anything(names: set[str], added: str) -> None:
    before = load_policy([(name, FILES[name]) for name in names])
    after = load_policy([(name, FILES[name]) for name in names | {added}])

    assert after.limits.max_bytes <= before.limits.max_bytes
    assert after.limits.max_artifacts <= before.limits.max_artifacts
    assert (after.limits.max_share_of_kind or 1) <= (before.limits.max_share_of_kind or 1)
    assert after.grace >= before.grace
    assert after.min_age >= before.min_age
    assert after.quiet_time >= before.quiet_time
    assert set(after.protects) >= set(before.protects)


def test_a_name_used_twice_is_an_error_also_over_two_files() -> None:
    rule = "[{name: same, match: {kind: other}}]"

    with pytest.raises(PolicyUnusable) as caught:
        load_policy([("a.yaml", policy_text(rules=rule)), ("b.yaml", policy_text(rules=rule))])

    assert str(caught.value.findings[0]).startswith("b.yaml:4:10: AP002 a rule called `same` stands at a.yaml:4:10")
