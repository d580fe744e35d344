"""From what a file says to what it means: sections of `language.py` become values of `ruleset.py`."""

from artifactctl.domain.artifacts import LineageRole
from artifactctl.policy import language, ruleset
from artifactctl.policy.documents import Document, Path
from artifactctl.policy.language import PolicyDocument
from artifactctl.policy.words import DERIVED_FROM

DEFAULT_ACTION = ruleset.Action.QUARANTINE


def protects_of(written: PolicyDocument, document: Document) -> tuple[ruleset.Protect, ...]:
    """Return the protects of a file, in order."""
    return tuple(
        ruleset.Protect(
            name=entry.name,
            reason=entry.reason,
            match=matcher_of(entry.match),
            expires=entry.expires,
            place=_place_of_name(document, ("protect", index)),
        )
        for index, entry in enumerate(written.protect)
    )


def rules_of(written: PolicyDocument, document: Document) -> tuple[ruleset.Rule, ...]:
    """Return the rules of a file, in order, each with the action it has or inherits."""
    return tuple(
        ruleset.Rule(
            name=entry.name,
            description=entry.description,
            match=matcher_of(entry.match),
            keep=_keep_of(entry.keep),
            require=_require_of(entry.require),
            action=entry.action or written.defaults.action or DEFAULT_ACTION,
            allow_empty_groups=entry.allow_empty_groups,
            place=_place_of_name(document, ("rules", index)),
        )
        for index, entry in enumerate(written.rules)
    )


def limits_of(written: language.Limits) -> ruleset.Limits:
    """Return the limits of a file."""
    per_day = written.per_day or language.PerDay()
    return ruleset.Limits(
        max_bytes=written.max_bytes,
        max_artifacts=written.max_artifacts,
        max_share_of_kind=written.max_share_of_kind,
        max_bytes_per_day=per_day.max_bytes,
        max_artifacts_per_day=per_day.max_artifacts,
        approval_above_bytes=written.approval_above,
        approval_on_jump=written.approval_on_jump,
    )


def matcher_of(match: language.Match) -> ruleset.Matcher:
    """Return the conditions of a `match` section; labels in order of their keys."""
    tags = match.tags
    return ruleset.Matcher(
        kinds=match.kind or (),
        names=match.name or (),
        paths=match.path or (),
        roots=match.root or (),
        labels=tuple(sorted((match.labels or {}).items())),
        any_tag=(tags and tags.any_of) or (),
        all_tags=(tags and tags.all_of) or (),
        pinned=match.pinned,
        superseded=match.superseded,
        successor_verified=match.successor_verified,
        rebuildable=match.rebuildable,
        complete=match.complete,
        verified=match.verified,
        producer_states=match.producer_state or (),
        older_than=match.older_than,
        newer_than=match.newer_than,
        larger_than_bytes=match.larger_than,
        smaller_than_bytes=match.smaller_than,
    )


def _keep_of(keep: language.Keep) -> ruleset.Keep:
    last, best, every, needed_by = keep.last, keep.best, keep.every, keep.needed_by
    return ruleset.Keep(
        last=ruleset.KeepLast(n=last.n, group_by=last.group_by) if last else None,
        best=ruleset.KeepBest(n=best.n, metric=best.metric, mode=best.mode, group_by=best.group_by) if best else None,
        every=ruleset.KeepEvery(steps=every.steps) if every else None,
        newer_than=keep.newer_than,
        needed_by=_relation_of(needed_by) if needed_by else None,
    )


def _require_of(require: language.Require) -> ruleset.Require:
    successor = require.successor
    return ruleset.Require(
        successor=ruleset.RequireSuccessor(relation=_relation_of(successor), verified=successor.verified)
        if successor
        else None,
        rebuildable=require.rebuildable,
        min_copies=require.min_copies,
    )


def _relation_of(written: language.NeededBy | language.Successor) -> ruleset.Relation:
    roles = () if written.relation == DERIVED_FROM else (LineageRole(written.relation),)
    return ruleset.Relation(kinds=written.kind or (), roles=roles)


def _place_of_name(document: Document, path: Path) -> ruleset.Place:
    return document.place((*path, "name"))
