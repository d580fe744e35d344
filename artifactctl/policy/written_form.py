"""The effective policy in the form of a policy file: what was merged, as one file would say it."""

from collections.abc import Mapping
from typing import Any

from artifactctl.policy.ruleset import Keep, Limits, Matcher, Policy, Protect, Relation, Require, Rule
from artifactctl.policy.spelling import duration_text, factor_text, instant_text, share_text, size_text
from artifactctl.policy.words import DERIVED_FROM

Form = dict[str, Any]


def written_form(policy: Policy) -> Form:
    """Return the sections of a policy file that means exactly this policy; what says nothing is left out."""
    return _said(
        {
            "schema": "artifactctl/policy/v1",
            "name": policy.name,
            "owner": policy.owner,
            "defaults": {
                "quarantine": duration_text(policy.grace),
                "min_age": duration_text(policy.min_age),
                "quiet_time": duration_text(policy.quiet_time),
            },
            "limits": _limits(policy.limits),
            "protect": [_protect(protect) for protect in policy.protects],
            "rules": [_rule(rule) for rule in policy.rules],
        }
    )


def _said(form: Mapping[str, Any]) -> Form:
    """Return the form without what is None, empty or not asked for; False says something in a `match`."""
    return {key: value for key, value in form.items() if value is not None and value not in ("", [], {}, ())}


def _limits(limits: Limits) -> Form:
    def size(size_bytes: int | None) -> str | None:
        return None if size_bytes is None else size_text(size_bytes)

    share = limits.max_share_of_kind
    return _said(
        {
            "max_bytes": size(limits.max_bytes),
            "max_artifacts": limits.max_artifacts,
            "max_share_of_kind": None if share is None else share_text(share),
            "approval_above": size(limits.approval_above_bytes),
            "approval_on_jump": None if limits.approval_on_jump is None else factor_text(limits.approval_on_jump),
            "per_day": _said(
                {"max_bytes": size(limits.max_bytes_per_day), "max_artifacts": limits.max_artifacts_per_day}
            ),
        }
    )


def _protect(protect: Protect) -> Form:
    expires = None if protect.expires is None else instant_text(protect.expires)
    match = _match(protect.match)
    return _said({"name": protect.name, "reason": protect.reason, "match": match, "expires": expires})


def _rule(rule: Rule) -> Form:
    return _said(
        {
            "name": rule.name,
            "description": rule.description,
            "match": _match(rule.match),
            "keep": _keep(rule.keep),
            "require": _require(rule.require),
            "action": rule.action.value,
            "allow_empty_groups": rule.allow_empty_groups or None,
        }
    )


def _match(match: Matcher) -> Form:
    return _said(
        {
            "kind": [kind.value for kind in match.kinds],
            "name": list(match.names),
            "path": list(match.paths),
            "root": list(match.roots),
            "labels": {key: list(patterns) for key, patterns in match.labels},
            "tags": _said({"any": list(match.any_tag), "all": list(match.all_tags)}),
            "pinned": match.pinned,
            "superseded": match.superseded,
            "successor_verified": match.successor_verified,
            "rebuildable": match.rebuildable,
            "complete": match.complete,
            "verified": match.verified,
            "producer.state": [state.value for state in match.producer_states],
            "older_than": None if match.older_than is None else duration_text(match.older_than),
            "newer_than": None if match.newer_than is None else duration_text(match.newer_than),
            "larger_than": None if match.larger_than_bytes is None else size_text(match.larger_than_bytes),
            "smaller_than": None if match.smaller_than_bytes is None else size_text(match.smaller_than_bytes),
        }
    )


def _keep(keep: Keep) -> Form:
    last, best = keep.last, keep.best
    return _said(
        {
            "last": last and {"n": last.n, "group_by": list(last.group_by)},
            "best": best
            and {"n": best.n, "metric": best.metric, "mode": best.mode.value, "group_by": list(best.group_by)},
            "every": keep.every and {"steps": keep.every.steps},
            "newer_than": None if keep.newer_than is None else duration_text(keep.newer_than),
            "needed_by": keep.needed_by and _relation(keep.needed_by),
        }
    )


def _require(require: Require) -> Form:
    successor = require.successor
    return _said(
        {
            "successor": successor and {**_relation(successor.relation), "verified": successor.verified},
            "rebuildable": require.rebuildable or None,
            "min_copies": require.min_copies or None,
        }
    )


def _relation(relation: Relation) -> Form:
    role = relation.roles[0].value if relation.roles else DERIVED_FROM
    return _said({"kind": [kind.value for kind in relation.kinds], "relation": role})
