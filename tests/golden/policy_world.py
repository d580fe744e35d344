"""Makes a catalog without files and two policies for the sessions: `python -m tests.golden.policy_world FOLDER`.

Ages count from the clock's last midnight (UTC), so that what the sessions print depends on no day and no hour.
"""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from artifactctl.catalog import Writing, create_or_upgrade
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, Root, RunState, VerifyLevel

GIB = 1 << 30
FINGERPRINT = "f" * 64

OLD = """\
schema: artifactctl/policy/v1
name: cluster
defaults: {quarantine: 7d, min_age: 24h}
limits: {max_bytes: 20TiB, max_artifacts: 500, max_share_of_kind: 100%}
protect:
  - name: released
    reason: Shipped to serving; see RFC-12
    match: {kind: draft_model, tags: {any: [released]}}
  - name: paper
    reason: The figures of the paper are drawn from it
    match: {labels: {project: paper}}
rules:
  - name: hidden-states
    match: {kind: hidden_states}
    keep: {newer_than: 30d}
    require: {successor: {kind: checkpoint, relation: derived_from, verified: true}}
  - name: drafts
    match: {kind: draft_model, older_than: 90d}
  - name: checkpoints
    match: {kind: checkpoint}
    keep:
      last: {n: 3, group_by: [run]}
      best: {n: 1, metric: eval/acceptance_len, mode: max, group_by: [run]}
      every: {steps: 5000}
"""
NEW = """\
schema: artifactctl/policy/v1
name: cluster
defaults: {quarantine: 7d, min_age: 24h}
limits: {max_bytes: 500GiB, max_artifacts: 500, max_share_of_kind: 100%}
protect:
  - name: released
    reason: Shipped to serving; see RFC-12
    match: {kind: draft_model, tags: {any: [released]}}
rules:
  - name: hidden-states
    match: {kind: hidden_states}
    keep: {newer_than: 12d}
    require: {successor: {kind: checkpoint, relation: derived_from, verified: true}}
  - name: checkpoints
    match: {kind: checkpoint}
    keep:
      last: {n: 1, group_by: [run]}
      best: {n: 1, metric: eval/acceptance_len, mode: max, group_by: [run]}
"""


class World:
    """Writes artifacts below one root."""

    def __init__(self, writing: Writing, now: datetime) -> None:
        self._writing = writing
        self._now = now

    def place(
        self,
        name: str,
        kind: ArtifactKind,
        *,
        age_days: int,
        gib: int,
        labels: Mapping[str, str] | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> Artifact:
        """Record an artifact with one verified copy."""
        created_at = self._now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=age_days)
        made = self._writing.add_artifact(f"data/{name}", kind, created_at=created_at, labels=labels or {})
        copy = self._writing.add_replica(
            made.artifact_id,
            "root-1",
            name.encode(),
            is_directory=True,
            files=4,
            apparent_bytes=gib * GIB,
            allocated_bytes=gib * GIB,
            member_digest="d" * 64,
            fingerprint=FINGERPRINT,
            observed_at=self._now,
        )
        self._writing.set_verified(copy.replica_id, VerifyLevel.HEADERS, FINGERPRINT, ok=True)
        for metric, value in (metrics or {}).items():
            self._writing.add_measurement(made.artifact_id, metric, value)
        return made


def fill(writing: Writing, now: datetime) -> None:
    """Record a training run of six checkpoints, what they were trained on, and two drafts."""
    world = World(writing, now)
    states = world.place("hs-10k", ArtifactKind.HIDDEN_STATES, age_days=10, gib=924)
    checkpoints = [
        world.place(
            f"r1/step-{step}",
            ArtifactKind.CHECKPOINT,
            age_days=40 - step // 1000,
            gib=100 + step // 1000,
            labels={"project": "paper"} if step == 2000 else None,
            metrics={"step": step, "eval/acceptance_len": 2 + step % 4000 / 4000},
        )
        for step in range(1000, 7000, 1000)
    ]
    for checkpoint in checkpoints:
        writing.add_lineage(checkpoint.artifact_id, states.artifact_id, LineageRole.TRAINED_ON)
    outputs = [checkpoint.artifact_id for checkpoint in checkpoints]
    writing.add_run("training", state=RunState.SUCCEEDED, outputs=outputs)
    world.place("draft-v1", ArtifactKind.DRAFT_MODEL, age_days=200, gib=5, labels={"tags": "released"})
    world.place("draft|v0", ArtifactKind.DRAFT_MODEL, age_days=300, gib=5)


def main() -> None:
    """Write catalog.db, old.yaml and new.yaml."""
    folder, now = Path(sys.argv[1]), datetime.now(UTC)
    catalog = create_or_upgrade(folder / "catalog.db", now=now)
    with catalog.writing("ada", now) as writing:
        host = writing.add_host("here", machine_id="m-1")
        writing.add_root(
            Root(
                root_id="root-1",
                name="data",
                host_id=host.host_id,
                path=b"/data",
                filesystem_uuid="uuid-1",
                filesystem_type="xfs",
                inode=128,
            )
        )
        fill(writing, now)
    catalog.close()
    (folder / "old.yaml").write_text(OLD, encoding="utf-8")
    (folder / "new.yaml").write_text(NEW, encoding="utf-8")


if __name__ == "__main__":
    main()
