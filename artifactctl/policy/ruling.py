"""What one rule says of the artifacts that it is the first to match: why each stays, or that it may go."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from artifactctl.domain.artifacts import LineageRole
from artifactctl.policy.decisions import Decision
from artifactctl.policy.facts import ChildFacts, Facts
from artifactctl.policy.grouping import OF_A_RUN, Grouped, Key, Sentences, emptied, grouped, kept_best, kept_last
from artifactctl.policy.ruleset import Keep, Relation, RequireSuccessor, Rule
from artifactctl.policy.spelling import duration_text
from artifactctl.policy.wording import either, spell_age

Reason = tuple[str, str]
"""(The word for scripts, the sentence for people.)"""


def rule_on(rule: Rule, members: Sequence[Facts], *, now: datetime) -> dict[int, Decision]:
    """Return the rule's decision about each member, by artifact id: complete, living, first matched by this rule.

    Protections and the minimum age are left out of it, so that neither moves anybody's place in a group.
    """
    groups = {group_by: grouped(members, group_by) for group_by in groupings_of(rule)}
    staying = _kept_of_groups(rule.keep, groups, members)
    may_go = Decision(
        action=rule.action,
        because=f"rule.{rule.name}",
        sentence=f"{rule.action.value}: {rule.name} offers it and nothing in the rule keeps it",
        rule=rule.name,
    )
    decisions = dict.fromkeys([facts.artifact_id for facts in members], may_go)
    for word, sentences in reversed(staying):  # the first that keeps an artifact is the one that is told
        for artifact_id, sentence in sentences.items():
            decisions[artifact_id] = _kept(rule, word, sentence)
    for reason_of in _asked_of_each(rule, now):
        for facts in members:
            if decisions[facts.artifact_id] is may_go:
                reason = reason_of(facts)
                if reason is not None:
                    decisions[facts.artifact_id] = _kept(rule, *reason)
    if not rule.allow_empty_groups:
        kept = {artifact_id for artifact_id, decision in decisions.items() if decision is not may_go}
        for group in groups.values():  # of each group that would be empty the newest: a run without a step that counts
            for artifact_id, sentence in emptied(group, kept).items():
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


def _kept_of_groups(
    keep: Keep, groups: Mapping[Key, Grouped], members: Sequence[Facts]
) -> tuple[tuple[str, Sentences], ...]:
    found = []  # what is among the best is told as that: it stays when newer ones come
    if keep.best is not None:
        found.append(("keep.best", kept_best(keep.best, groups[keep.best.group_by], members)))
    if keep.last is not None:
        found.append(("keep.last", kept_last(keep.last, groups[keep.last.group_by])))
    return tuple(found)


def _asked_of_each(rule: Rule, now: datetime) -> Iterator[Callable[[Facts], Reason | None]]:
    """Yield what the rule asks of one artifact by itself, in order: each answers why it stays, or None."""
    keep, require = rule.keep, rule.require
    if keep.every is not None:
        yield partial(_every, keep.every.steps)
    if keep.newer_than is not None:
        yield partial(_newer, keep.newer_than, now)
    if keep.needed_by is not None:
        yield partial(_needed, keep.needed_by)
    if require.successor is not None:
        yield partial(_without_successor, require.successor)
    if require.rebuildable:
        yield _not_rebuildable
    if require.min_copies > 0:
        yield partial(_too_few_copies, require.min_copies)


def _every(steps: int, facts: Facts) -> Reason | None:
    if facts.step is None:
        return "keep.every", "step missing"
    return None if facts.step % steps else ("keep.every", f"step {facts.step} is a multiple of {steps}")


def _newer(age: timedelta, now: datetime, facts: Facts) -> Reason | None:
    if facts.created_at <= now - age:
        return None
    return (
        "keep.newer_than",
        f"{spell_age(now - facts.created_at)} old, and what is newer than {duration_text(age)} stays",
    )


def _needed(relation: Relation, facts: Facts) -> Reason | None:
    child = _child(relation, facts, verified=False)
    if child is None:
        return None
    return "keep.needed_by", f"the {child.kind.value} {child.name} needs it ({child.role.value})"


def _without_successor(successor: RequireSuccessor, facts: Facts) -> Reason | None:
    if _has_successor(successor.relation, facts, verified=successor.verified):
        return None
    living = "living and verified" if successor.verified else "living"
    return "require.successor", f"no {living} {_spell_relation(successor.relation)} is recorded"


def _not_rebuildable(facts: Facts) -> Reason | None:
    if facts.rebuildable:
        return None
    return "require.rebuildable", "it cannot be built again from what is recorded and alive"


def _too_few_copies(least: int, facts: Facts) -> Reason | None:
    left = max(facts.verified_copies - 1, 0)
    copies = "verified copy" if left == 1 else "verified copies"
    return None if left >= least else ("require.min_copies", f"{left} {copies} would be left, and {least} must be")


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
