"""What one rule says of the artifacts that it is the first to match: why each stays, or that it may go."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from artifactctl.domain.artifacts import LineageRole
from artifactctl.policy.decisions import Decision
from artifactctl.policy.facts import ChildFacts, Facts
from artifactctl.policy.grouping import OF_A_RUN, Sentences, emptied, kept_best, kept_last
from artifactctl.policy.ruleset import Keep, Relation, Require, Rule
from artifactctl.policy.spelling import duration_text
from artifactctl.policy.wording import either, spell_age


def rule_on(rule: Rule, members: Sequence[Facts], *, now: datetime) -> dict[int, Decision]:
    """Return the rule's decision about each member, by artifact id: complete, living, first matched by this rule.

    Protections and the minimum age are left out of it, so that neither moves anybody's place in a group.
    """
    groups = _kept_of_groups(rule.keep, members)
    may_go = Decision(
        action=rule.action,
        because=f"rule.{rule.name}",
        sentence=f"{rule.action.value}: {rule.name} offers it and nothing in the rule keeps it",
        rule=rule.name,
    )
    decisions: dict[int, Decision] = {}
    for facts in members:
        reason = next(_reasons(rule, facts, groups, now), None)
        decisions[facts.artifact_id] = may_go if reason is None else _kept(rule, *reason)
    for artifact_id, sentence in _left_empty(rule, members, decisions).items():
        decisions[artifact_id] = _kept(rule, "empty_group", sentence)
    return decisions


def groupings_of(rule: Rule) -> tuple[tuple[str, ...], ...]:
    """Return by what the rule groups what it matches, each once; () when each artifact is judged by itself.

    `every` counts the steps of a run, so its groups are the runs.
    """
    keep = rule.keep
    found = {each.group_by for each in (keep.last, keep.best) if each is not None}
    return tuple(sorted(found | {OF_A_RUN} if keep.every is not None else found))


def _kept(rule: Rule, because: str, sentence: str) -> Decision:
    return Decision(action=None, because=because, sentence=f"keep: {sentence}", rule=rule.name)


def _kept_of_groups(keep: Keep, members: Sequence[Facts]) -> tuple[tuple[str, Sentences], ...]:
    found = []  # what is among the best is told as that: it stays when newer ones come
    if keep.best is not None:
        found.append(("keep.best", kept_best(keep.best, members)))
    if keep.last is not None:
        found.append(("keep.last", kept_last(keep.last, members)))
    return tuple(found)


def _left_empty(rule: Rule, members: Sequence[Facts], decisions: dict[int, Decision]) -> Sentences:
    """Return the newest of each group of which the rule would keep nothing: a run without one step that counts."""
    if rule.allow_empty_groups:
        return {}
    groupings = groupings_of(rule)
    if not groupings:
        return {}
    kept = {artifact_id for artifact_id, decision in decisions.items() if decision.kept}
    found: Sentences = {}
    for group_by in groupings:
        found.update(emptied(group_by, members, kept))
    return found


def _reasons(
    rule: Rule, facts: Facts, groups: tuple[tuple[str, Sentences], ...], now: datetime
) -> Iterator[tuple[str, str]]:
    """Yield (word, sentence) of everything that keeps the artifact: any `keep`, then any `require` that is not met."""
    for word, kept in groups:
        if facts.artifact_id in kept:
            yield word, kept[facts.artifact_id]
    yield from _other_keeps(rule.keep, facts, now)
    yield from _unmet(rule.require, facts)


def _other_keeps(keep: Keep, facts: Facts, now: datetime) -> Iterator[tuple[str, str]]:
    if keep.every is not None:
        if facts.step is None:
            yield "keep.every", "step missing"
        elif facts.step % keep.every.steps == 0:
            yield "keep.every", f"step {facts.step} is a multiple of {keep.every.steps}"
    if keep.newer_than is not None and facts.created_at > now - keep.newer_than:
        age = spell_age(now - facts.created_at)
        yield "keep.newer_than", f"{age} old, and what is newer than {duration_text(keep.newer_than)} stays"
    if keep.needed_by is not None:
        child = _child(keep.needed_by, facts, verified=False)
        if child is not None:
            yield "keep.needed_by", f"the {child.kind.value} {child.name} needs it ({child.role.value})"


def _unmet(require: Require, facts: Facts) -> Iterator[tuple[str, str]]:
    successor = require.successor
    if successor is not None and not _has_successor(successor.relation, facts, verified=successor.verified):
        living = "living and verified" if successor.verified else "living"
        yield "require.successor", f"no {living} {_spell_relation(successor.relation)} is recorded"
    if require.rebuildable and not facts.rebuildable:
        yield "require.rebuildable", "it cannot be built again from what is recorded and alive"
    if require.min_copies > 0:
        left = max(facts.verified_copies - 1, 0)
        if left < require.min_copies:
            copies = "verified copy" if left == 1 else "verified copies"
            yield "require.min_copies", f"{left} {copies} would be left, and {require.min_copies} must be"


def _has_successor(relation: Relation, facts: Facts, *, verified: bool) -> bool:
    if _child(relation, facts, verified=verified) is not None:
        return True
    takes_its_place = LineageRole.SUPERSEDES in relation.roles and facts.successor_verified
    return takes_its_place and (not relation.kinds or facts.successor_kind in relation.kinds)


def _child(relation: Relation, facts: Facts, *, verified: bool) -> ChildFacts | None:
    """Return the first child, by name, that lives and fits."""
    fitting = (
        child
        for child in facts.children
        if child.living
        and (child.verified or not verified)
        and (not relation.kinds or child.kind in relation.kinds)
        and (child.role in relation.roles if relation.roles else child.role is not LineageRole.SUPERSEDES)
    )
    return min(fitting, key=lambda child: (child.name, child.role), default=None)


def _spell_relation(relation: Relation) -> str:
    kinds = either(kind.value for kind in relation.kinds) if relation.kinds else "artifact"
    roles = either(role.value for role in relation.roles) if relation.roles else "made from it"
    return f"{kinds} ({roles})" if relation.roles else f"{kinds} {roles}"
