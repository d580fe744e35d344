"""How long a policy takes over a large catalog, run by hand: `python -m tests.benchmarks.policies FILE [ARTIFACTS]`.

Makes a catalog of ARTIFACTS (1,000,000) at FILE, unless it is there already: runs of a hundred checkpoints with their
steps and one measurement each, what they were trained on, response sets that no rule names. Prints the seconds of CPU
that a view and an evaluation take, and their ratio to a plain SELECT of the rows of the same artifacts and copies; then
those that a run takes before it looks at any disk, and those of `policy diff` and a lint over the same artifacts.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from artifactctl.catalog import Catalog, create_or_upgrade, open_catalog
from artifactctl.catalog.schema_artifacts import artifact, lineage_edge, measurement, replica
from artifactctl.catalog.schema_work import run, run_output
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, Root
from artifactctl.inventory.policy_impact import difference_between
from artifactctl.inventory.policy_view import catalogue_view
from artifactctl.inventory.rulings import Rulings
from artifactctl.policy.catalogue_lint import catalogue_findings
from artifactctl.policy.comparing import Effect
from artifactctl.policy.differing import Candidate
from artifactctl.policy.evaluating import evaluate
from artifactctl.policy.reading import read_policy
from artifactctl.policy.ruleset import (
    Keep,
    KeepBest,
    KeepEvery,
    KeepLast,
    Limits,
    Matcher,
    MetricMode,
    Policy,
    Protect,
    Relation,
    Require,
    RequireSuccessor,
    Rule,
)
from artifactctl.policy.written_form import written_form

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ROWS_AT_ONCE = 50_000
IN_A_RUN = 100
UNNAMED_OF_TEN = 2
"""How many of ten artifacts no rule looks at."""

ONE_SUPERSEDED_OF = 5000
"""Of so many artifacts one is superseded."""

POLICY = Policy(
    name="benchmark",
    limits=Limits(max_bytes=1 << 60, max_artifacts=10**9),
    min_age=timedelta(hours=24),
    protects=(Protect(name="released", reason="Shipped to serving", match=Matcher(any_tag=("released", "prod/*"))),),
    rules=(
        Rule(
            name="hidden-states",
            match=Matcher(kinds=(ArtifactKind.HIDDEN_STATES,)),
            keep=Keep(newer_than=timedelta(days=14)),
            require=Require(successor=RequireSuccessor(relation=Relation(), verified=True)),
        ),
        Rule(
            name="checkpoints",
            match=Matcher(kinds=(ArtifactKind.CHECKPOINT,)),
            keep=Keep(
                last=KeepLast(n=2, group_by=("run",)),
                best=KeepBest(n=3, metric="eval/acceptance_len", mode=MetricMode.MAX, group_by=("run",)),
                every=KeepEvery(steps=5000),
            ),
        ),
    ),
)
"""The policy of the founding story. Its protect names no kind, so every artifact needs its facts."""

FEW_MATCH = Policy(
    name="few match",
    limits=POLICY.limits,
    protects=POLICY.protects,
    rules=(
        Rule(name="superseded", match=Matcher(superseded=True, successor_verified=True)),
        Rule(name="dumps", match=Matcher(names=("data/tmp-*",), older_than=timedelta(days=7))),
    ),
)
"""Rules that name few, and a protect that could be about anything."""

OF_SOME_KINDS = Policy(name="some kinds", limits=POLICY.limits, rules=POLICY.rules)
"""The same without the protect: what no rule names stays in the database."""


def make_catalog(location: Path, count: int) -> None:
    """Write the rows straight into the tables, in one transaction."""
    catalog = create_or_upgrade(location, now=NOW)
    root = Root(
        root_id="root-1",
        name="data",
        host_id=1,
        path=b"/data",
        filesystem_uuid="fs-1",
        filesystem_type="xfs",
        inode=64,
    )
    with catalog.writing("benchmark", NOW) as writing:
        writing.add_host("here", machine_id="m-1")
        writing.add_root(root)
        _insert(writing.connection, artifact, map(_artifact, range(1, count + 1)))
        _insert(writing.connection, replica, map(_replica, range(1, count + 1)))
        checkpoints = [number for number in range(1, count + 1) if _kind(number) is ArtifactKind.CHECKPOINT]
        _insert(writing.connection, measurement, _measurements(checkpoints))
        _insert(writing.connection, lineage_edge, map(_edge, checkpoints))
        runs = sorted({number // IN_A_RUN + 1 for number in checkpoints})
        _insert(writing.connection, run, map(_run, runs))
        outputs = ({"run_id": number // IN_A_RUN + 1, "artifact_id": number} for number in checkpoints)
        _insert(writing.connection, run_output, outputs)
    catalog.close()


def _insert(connection: Connection, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_AT_ONCE:
            connection.execute(insert(table), batch)
            batch = []
    if batch:
        connection.execute(insert(table), batch)


def _kind(number: int) -> ArtifactKind:
    place = number % IN_A_RUN
    if place == 0:
        return ArtifactKind.HIDDEN_STATES
    return ArtifactKind.RESPONSE_SET if place % 10 < UNNAMED_OF_TEN else ArtifactKind.CHECKPOINT


def _artifact(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"data/run-{number // IN_A_RUN}/artifact-{number}",
        "name_passed_on": 0,
        "kind": _kind(number).value,
        "created_at": NOW - timedelta(minutes=number),
        "content_digest": "",
        "sealed": True,
        "superseded_by_id": number - 1 if number % ONE_SUPERSEDED_OF == 0 else None,
        "labels": [["team", f"t{number % 7}"]],
        "details": [["layout", "specforge"], ["problems", ""]],
    }


def _replica(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "artifact_id": number,
        "root_id": "root-1",
        "relative": b"run-%d/artifact-%d" % (number // IN_A_RUN, number),
        "state": "live",
        "generation": 0,
        "is_directory": True,
        "files": 4,
        "apparent_bytes": 4_000_000,
        "allocated_bytes": 4_001_792,
        "member_digest": "d" * 64,
        "fingerprint": "f" * 64,
        "observed_at": NOW,
        "verified_at": NOW,
        "verified_level": "headers",
        "verified_fingerprint": "f" * 64 if number % 3 else "",
    }


def _measurements(checkpoints: list[int]) -> Iterator[dict[str, Any]]:
    for number in checkpoints:
        for metric, value in (("step", number % IN_A_RUN * 100.0), ("eval/acceptance_len", 2 + number % 17 / 17)):
            yield {"artifact_id": number, "metric": metric, "value": value, "source": "", "measured_at": NOW}


def _edge(number: int) -> dict[str, Any]:
    return {
        "child_id": number,
        "parent_id": max(number - number % IN_A_RUN, IN_A_RUN),
        "role": LineageRole.TRAINED_ON.value,
        "recorded_at": NOW,
        "recorded_by": "benchmark",
    }


def _run(number: int) -> dict[str, Any]:
    return {"id": number, "stage": "training", "state": "succeeded", "command": "train", "recorded_at": NOW}


def measure(catalog: Catalog, policy: Policy) -> None:
    """Print what the view and the evaluation took, beside reading the rows."""
    with catalog.reading() as reading:
        begun = time.process_time()
        rows = sum(len(reading.connection.execute(select(table)).all()) for table in (artifact, replica))
        plain = time.process_time() - begun
        begun = time.process_time()
        view = catalogue_view(reading, now=NOW, policy=policy)
        viewed = time.process_time() - begun
    begun = time.process_time()
    evaluation = evaluate(policy, view, now=NOW)
    evaluated = time.process_time() - begun
    print(
        f"{policy.name}: SELECT of {rows:,} rows {plain:.1f} s; view of {len(view.artifacts):,} artifacts {viewed:.1f} "
        f"s (x {viewed / plain:.2f}); evaluation {evaluated:.1f} s (x {evaluated / plain:.2f}); "
        f"{len(evaluation.offered):,} offered"
    )


def measure_run(catalog: Catalog, policy: Policy) -> None:
    """Print what a run needs before it looks at any disk: the rulings, and what they offer, read from the catalog."""
    with catalog.reading() as reading:
        begun = time.process_time()
        rulings = Rulings(policy, reading, now=NOW)
        ruled = time.process_time() - begun
        begun = time.process_time()
        numbers = None if rulings.offers_many else rulings.offered
        artifacts = reading.artifacts(state=ReplicaState.LIVE, numbers=numbers)
        read = time.process_time() - begun
    print(f"{policy.name}: rulings {ruled:.1f} s; {len(artifacts):,} artifacts to look at read in {read:.1f} s")


def measure_review(catalog: Catalog) -> None:
    """Print what a review takes beside one view and evaluation: a diff (two policies, three instants), and a lint."""
    keeps_fewer = replace(POLICY.rules[1], keep=replace(POLICY.rules[1].keep, last=KeepLast(n=1, group_by=("run",))))
    old = Candidate(written=POLICY, standing=POLICY)
    new = replace(POLICY, rules=(POLICY.rules[0], keeps_fewer))
    with catalog.reading() as reading:
        begun = time.process_time()
        view = catalogue_view(reading, now=NOW, policy=POLICY)
        evaluate(POLICY, view, now=NOW)
        once = time.process_time() - begun
        begun = time.process_time()
        read = read_policy([("benchmark.yaml", json.dumps(written_form(POLICY)))])
        findings = list(catalogue_findings(read, POLICY, view, None, now=NOW))
        linted = time.process_time() - begun
        del view
        begun = time.process_time()
        found = difference_between(old, Candidate(written=new, standing=new), reading, now=NOW)
        differed = time.process_time() - begun
    reclaimed = len(found.impacts[0].changes[Effect.NEWLY_RECLAIMED])
    print(
        f"one view and evaluation {once:.1f} s; lint of the view {linted:.1f} s (x {linted / once:.2f}), "
        f"{len(findings)} found; diff {differed:.1f} s (x {differed / once:.2f}), {reclaimed:,} newly reclaimed"
    )


def main() -> None:
    """Make the catalog unless it is there, and measure."""
    location = Path(sys.argv[1])
    if not location.exists():
        location.parent.mkdir(parents=True, exist_ok=True)
        make_catalog(location, int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
    catalog = open_catalog(location, now=NOW)
    for policy in (POLICY, OF_SOME_KINDS, FEW_MATCH):
        measure(catalog, policy)
        measure_run(catalog, policy)
    measure_review(catalog)
    catalog.close()


if __name__ == "__main__":
    main()
