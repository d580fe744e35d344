"""What a policy decides about every artifact of a view, and how it came to it. Pure: the instant is an argument.

The order: built-in protections, the policy's protects, the minimum age, then the first rule that matches: its reasons
to keep, what it requires, and that no group is left empty. Unknown keeps: where it cannot be decided whether a rule
matches, no later rule is asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.decisions import Decision, Evaluation, Holds, RuleVerdict
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.matching import Matching, matching
from artifactctl.policy.protecting import BUILTINS, Protections, builtin_of, has_expired
from artifactctl.policy.ruleset import Policy, Protect, Rule
from artifactctl.policy.ruling import rule_on
from artifactctl.policy.spelling import duration_text
from artifactctl.policy.wording import spell_age

NO_RULE = Decision(action=None, because="no_rule", sentence="keep: no rule matches it")


def evaluate(policy: Policy, view: CatalogueView, *, now: datetime) -> Evaluation:
    """Return the decision about every artifact of the view; the order of its artifacts changes nothing."""
    (evaluation,) = evaluate_each((policy,), view, now=now)
    return evaluation


def evaluate_each(policies: Iterable[Policy], view: CatalogueView, *, now: datetime) -> tuple[Evaluation, ...]:
    """Return the evaluation of each policy; what two of them say alike is decided once."""
    standing: dict[object, Mapping[int, Decision]] = {}
    ruled: dict[object, dict[int, Decision]] = {}
    assigned: dict[object, Assigned] = {}
    found = []
    for policy in policies:
        court = _Court(policy, now)
        before = (policy.protects, policy.min_age)
        if before not in standing:
            standing[before] = court.standing(view.artifacts)
        matchers = tuple(rule.match for rule in policy.rules)
        if matchers not in assigned:
            assigned[matchers] = court.assign(view.artifacts)
        by_rules = court.in_doubt(assigned[matchers])
        for number, (rule, members) in enumerate(zip(policy.rules, assigned[matchers].members, strict=True), start=1):
            key = (matchers[:number], rule)
            if key not in ruled:
                ruled[key] = rule_on(rule, members, now=now)
            by_rules |= ruled[key]
        decisions = {
            facts.artifact_id: standing[before].get(facts.artifact_id) or by_rules.get(facts.artifact_id, NO_RULE)
            for facts in view.artifacts
        }
        found.append(Evaluation(decisions=decisions, now=now))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Complete, living artifacts by the first rule that matches: `members` of each rule, in the order of the rules.

    `doubtful`: those of which it is not known whether the rule of that number does.
    """

    members: Sequence[Sequence[Facts]]
    doubtful: Sequence[tuple[int, Facts]]


def explain(policy: Policy, view: CatalogueView, artifact_id: int, *, now: datetime) -> tuple[RuleVerdict, ...]:
    """Return what everything said of one artifact, in order; exactly one verdict decided. KeyError if not in the view.

    Built-in protections and the minimum age appear where they apply, protects and rules always.
    """
    facts = next((facts for facts in view.artifacts if facts.artifact_id == artifact_id), None)
    if facts is None:
        raise KeyError(artifact_id)
    court = _Court(policy, now)
    assigned = court.assign(view.artifacts)
    by_rules = court.in_doubt(assigned)
    for rule, members in zip(policy.rules, assigned.members, strict=True):
        by_rules |= rule_on(rule, members, now=now) if facts in members else {}
    ruled = by_rules.get(artifact_id, NO_RULE)
    decision = court.before_rules(facts) or ruled
    found = [*court.explain_standing(facts, decision), *court.explain_rules(facts, ruled, decision)]
    if decision is NO_RULE:
        found.append(_verdict("no_rule", "rules", Holds.NO, NO_RULE.sentence, decided=True))
    return tuple(found)


class _Court:
    """One policy at one instant, with its matchers made ready."""

    def __init__(self, policy: Policy, now: datetime) -> None:
        self._policy = policy
        self._now = now
        self._protections = Protections(policy, now=now)
        self._rules = tuple((rule, matching(rule.match, now=now)) for rule in policy.rules)
        self._youngest = now - policy.min_age
        self._by_kind: Mapping[ArtifactKind, tuple[tuple[int, Matching], ...]] = {
            kind: tuple((number, match) for number, (_, match) in enumerate(self._rules) if match.may_be(kind))
            for kind in ArtifactKind
        }

    def before_rules(self, facts: Facts) -> Decision | None:
        """Return what keeps the artifact whatever the rules say."""
        return builtin_of(facts) or self._protections.decision(facts) or self._too_young(facts)

    def _too_young(self, facts: Facts) -> Decision | None:
        if facts.created_at <= self._youngest:
            return None
        age, least = spell_age(self._now - facts.created_at), duration_text(self._policy.min_age)
        sentence = f"keep: {age} old, and nothing younger than {least} may go"
        return Decision(action=None, because="defaults.min_age", sentence=sentence)

    def standing(self, artifacts: Iterable[Facts]) -> dict[int, Decision]:
        """Return what keeps artifacts whatever the rules say, by artifact id."""
        found = {}
        for facts in artifacts:
            decision = self.before_rules(facts)
            if decision is not None:
                found[facts.artifact_id] = decision
        return found

    def assign(self, artifacts: Iterable[Facts]) -> Assigned:
        """Return for each rule what it is the first to match."""
        members: list[list[Facts]] = [[] for _ in self._rules]
        doubtful: list[tuple[int, Facts]] = []
        for facts in artifacts:
            if not (facts.complete and facts.live):
                continue
            for number, match in self._by_kind[facts.kind]:
                answer = match.answer(facts)
                if answer is Holds.NO:
                    continue
                if answer is Holds.YES:
                    members[number].append(facts)
                else:
                    doubtful.append((number, facts))
                break
        return Assigned(members=members, doubtful=doubtful)

    def in_doubt(self, assigned: Assigned) -> dict[int, Decision]:
        """Return what keeps each doubtful artifact, by its id."""
        return {facts.artifact_id: _in_doubt(*self._rules[number], facts) for number, facts in assigned.doubtful}

    def explain_standing(self, facts: Facts, decision: Decision) -> Iterable[RuleVerdict]:
        """Yield the verdicts of what comes before the rules."""
        for builtin, holds in BUILTINS:
            if holds(facts):
                name = builtin.because.removeprefix("builtin.")
                yield _verdict(name, "builtin", Holds.YES, builtin.sentence, decided=builtin is decision)
        first = self._protections.first(facts)
        for protect in self._policy.protects:
            decided = decision.protected and protect is first
            yield self._explain_protect(protect, facts, decision.sentence if decided else "")
        too_young = self._too_young(facts)
        if too_young is not None:
            yield _verdict("min_age", "defaults", Holds.YES, too_young.sentence, decided=too_young == decision)

    def _explain_protect(self, protect: Protect, facts: Facts, deciding: str) -> RuleVerdict:
        match = matching(protect.match, now=self._now)
        answer, sentence = match.answer(facts), match.sentence(facts)
        if has_expired(protect, self._now):
            answer, sentence = Holds.NO, f"expired {protect.expires:%Y-%m-%d %H:%M} UTC"
        return _verdict(protect.name, "protect", answer, deciding or sentence, decided=bool(deciding))

    def explain_rules(self, facts: Facts, ruled: Decision, decision: Decision) -> Iterable[RuleVerdict]:
        """Yield the verdict of every rule; the first that matches says what it would do if it is not what decided."""
        for rule, match in self._rules:
            answer, sentence = match.answer(facts), match.sentence(facts)
            if rule.name == ruled.rule:
                sentence = ruled.sentence
            elif answer is not Holds.NO:
                sentence = f"not asked: {ruled.rule} comes first" if ruled.rule else "not asked"
            yield _verdict(
                rule.name, "rules", answer, sentence, decided=ruled is decision and rule.name == decision.rule
            )


def _in_doubt(rule: Rule, match: Matching, facts: Facts) -> Decision:
    sentence = f"keep: {rule.name} may match it: {match.sentence(facts)}"
    return Decision(action=None, because="match_unknown", sentence=sentence, rule=rule.name)


def _verdict(name: str, section: str, matches: Holds, sentence: str, *, decided: bool) -> RuleVerdict:
    return RuleVerdict(name=name, section=section, matches=matches, sentence=sentence, decided=decided)
