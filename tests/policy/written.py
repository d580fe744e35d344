"""Policy files as text for tests: the design's example, and small ones that say only what a test is about."""

import textwrap

LIMITS = "{max_bytes: 1TiB, max_artifacts: 100}"


def policy_text(*, name: str = "small", limits: str = LIMITS, **sections: str) -> str:
    """Return a policy file: schema, name and limits in the first three lines, then the sections as they are given."""
    lines = ["schema: artifactctl/policy/v1", f"name: {name}", f"limits: {limits}"]
    for section, content in sections.items():
        text = textwrap.dedent(content).strip()
        lines.append(f"{section}:\n{textwrap.indent(text, '  ')}" if "\n" in text else f"{section}: {text}")
    return "\n".join(lines) + "\n"


DESIGN_EXAMPLE = """\
# yaml-language-server: $schema=./policy.schema.json
schema: artifactctl/policy/v1
name: eagle3-cluster
owner: ml-infra                  # who approves; printed in plans and notices
description: Retention for EAGLE-3 training artifacts on /data and s3://eagle3

defaults:
  action: quarantine             # never delete first
  quarantine: 7d
  min_age: 24h                   # nothing younger is ever a candidate

limits:                          # exceeded => whole run refused (exit 4); nothing is trimmed
  max_bytes: 20TiB
  max_share_of_kind: 30%
  max_artifacts: 500
  approval_above: 5TiB           # needs `artifactctl approve PLAN`, by someone other than the planner

protect:                         # union; any match wins over every rule
  - name: released-models
    reason: Shipped to serving; see RFC-12     # required, min 8 chars: reviewers read it
    match: {kind: checkpoint, tags: {any: [released, prod/*]}}
  - name: pinned
    reason: A person pinned it
    match: {pinned: true}
    expires: 2027-03-01          # optional; lint warns 14 days before, and treats expiry as a policy change

rules:
  - name: hidden-states-after-training
    description: Hidden states are reproducible once a verified draft exists
    match: {kind: hidden_states, producer.state: succeeded}
    keep:                        # OR: matching any keeps it
      last: {n: 1, group_by: [labels.target_model, labels.corpus]}   # group_by is required
      newer_than: 14d
    require:                     # AND: all must hold
      successor: {kind: checkpoint, relation: derived_from, verified: true}
      min_copies: 0
    action: quarantine

  - name: checkpoints
    match: {kind: checkpoint}
    keep:
      last: {n: 2, group_by: [run]}
      best: {n: 3, metric: eval/acceptance_len, mode: max, group_by: [run]}
      every: {steps: 5000}
    require: {min_copies: 1}
    action: quarantine

tests:                           # run by `artifactctl policy test`; lint requires one per rule and per protect
  - name: best checkpoint survives; a released one is protected
    now: 2026-11-30T00:00:00Z
    given:
      - {id: c1, kind: checkpoint, run: r1, step: 100, age: 40d, metrics: {eval/acceptance_len: 3.4}, copies: 2}
      - {id: c3, kind: checkpoint, run: r1, step: 300, age: 20d, copies: 2, tags: [released]}
    expect:
      c1: {decision: keep, because: keep.best}
      c3: {decision: keep, because: protect.released-models}
"""
