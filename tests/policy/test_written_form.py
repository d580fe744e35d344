"""What `policy show` writes is a policy file that means the same."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.quantities import parse_duration, parse_percent, parse_size
from artifactctl.policy.reading import load_policy
from artifactctl.policy.spelling import duration_text, instant_text, share_text, size_text
from artifactctl.policy.written_form import written_form
from artifactctl.report.policy_text import policy_yaml
from tests.bench.sandbox import CHECKOUT
from tests.policy.written import DESIGN_EXAMPLE, policy_text

SHIPPED = [(file.name, file.read_bytes()) for file in sorted((CHECKOUT / "policies").glob("*.yaml"))]
EVERYTHING = policy_text(
    limits="{max_bytes: 1.5TB, max_artifacts: 7, per_day: {max_bytes: 17B, max_artifacts: 9}, approval_on_jump: 2.5}",
    defaults="{quarantine: 1d12h, min_age: 90.5s, quiet_time: 61m}",
    protect="""
        - name: p
          reason: "a: colon, a # and 'quotes'"
          match: {name: ['0777', 'no', '2027-03-01', '**'], labels: {a b: '*'}, tags: {all: x}, verified: false}
          expires: 2027-03-01T12:30:00+02:00
        """,
    rules="""
        - name: r
          description: |
            Two lines:
            of text.
          match: {root: r, path: /p/**, producer.state: failed, larger_than: 3B, smaller_than: 1PB, complete: true}
          keep: {needed_by: {kind: model}, every: {steps: 3}, newer_than: 1w}
          require: {successor: {relation: supersedes, verified: false}, rebuildable: true, min_copies: 2}
          action: archive
          allow_empty_groups: true
        """,
)


@pytest.mark.parametrize(("written", "shown"), [("3", "3"), ("3.0", "3"), ("2.5", "2.5")])
def test_a_whole_factor_is_shown_as_a_whole_number(written: str, shown: str) -> None:
    limits = f"{{max_bytes: 1TiB, max_artifacts: 100, approval_on_jump: {written}}}"

    form = written_form(load_policy([("p.yaml", policy_text(limits=limits))]))

    assert str(form["limits"]["approval_on_jump"]) == shown


@pytest.mark.parametrize(
    "files",
    [*([file] for file in SHIPPED), SHIPPED, [("e.yaml", DESIGN_EXAMPLE)], [("all.yaml", EVERYTHING)]],
    ids=["default", "eagle3", "scratch", "together", "design", "everything"],
)
def test_what_is_shown_means_the_same(files: Sequence[tuple[str, str | bytes]]) -> None:
    policy = load_policy(files)

    shown = policy_yaml(policy, written=policy, files=["p.yaml"])

    assert load_policy([("shown.yaml", shown)]) == policy
    assert f"# digest {policy.digest}" in shown.splitlines()


def test_a_size_is_shown_both_ways() -> None:
    policy = load_policy([("p.yaml", policy_text(limits="{max_bytes: 20TiB, max_artifacts: 1}"))])

    assert "  max_bytes: 20TiB                # 20.00 TiB (21.99 TB)" in policy_yaml(
        policy, written=policy, files=["p"]
    )


@given(st.integers(0, 2**63 - 1) | st.integers(0, 2**13).map(lambda count: count * 2**40))
def test_a_size_is_read_as_it_was_written(size_bytes: int) -> None:
    assert parse_size(size_text(size_bytes)) == size_bytes


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=36_000)))
def test_a_duration_is_read_as_it_was_written(duration: timedelta) -> None:
    assert parse_duration(duration_text(duration)) == duration


@given(st.decimals(min_value=0, max_value=100, places=4))
def test_a_share_is_read_as_it_was_written(percent: object) -> None:
    share = float(parse_percent(f"{percent}%"))

    assert float(parse_percent(share_text(share))) == share


def test_an_instant_is_written_as_a_day_where_it_is_one() -> None:
    assert instant_text(datetime(2027, 3, 1, tzinfo=UTC)) == "2027-03-01"
    assert instant_text(datetime(2027, 3, 1, 12, 30, tzinfo=UTC)) == "2027-03-01T12:30:00Z"
