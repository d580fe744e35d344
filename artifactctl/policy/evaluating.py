"""What a policy decides about every artifact of a view, and how it came to it. Pure: the instant is an argument.

The order: built-in protections, the policy's protects, the minimum age, then the first rule that matches: its reasons
to keep, what it requires, and that no group is left empty. Unknown keeps: where it cannot be decided whether a rule
matches, no later rule is asked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.policy.decisions import Decision, Evaluation, Holds, RuleVerdict
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.matching import Matching, asks_the_clock, matching
from artifactctl.policy.protecting import BUILTINS, Protections, builtin_of, has_expired
from artifactctl.policy.ruleset import Matcher, Policy, Protect, Rule
from artifactctl.policy.ruling import rule_on
from artifactctl.policy.spelling import duration_text
from artifactctl.policy.wording import spell_age

NO_RULE = Decision(action=None, because="no_rule", sentence="keep: no rule matches it")


def evaluate(policy: Policy, view: CatalogueView, *, now: datetime) -> Evaluation:
    """Return the decision about every artifact of the view; the order of its artifacts changes nothing."""
    return Hearing(view).evaluate(policy, now=now)


class Hearing:
    """One view, before which policies are evaluated at instants. What two of them say alike is decided once.

    A matcher or reason that asks for no age says the same at every instant.
    """

    def __init__(self, view: CatalogueView) -> None:
        self.view = view
        self._numbers = [facts.artifact_id for facts in view.artifacts]
        self._by_kind = of_kinds(view.artifacts)
        self._protected: dict[object, Mapping[int, Decision]] = {}
        self._assigned: dict[object, Assigned] = {}
        self._ruled: dict[object, Mapping[int, Decision]] = {}

    def evaluate(self, policy: Policy, *, now: datetime) -> Evaluation:
        """Return the decision about every artifact of the view, in its order."""
        court = _Court(policy, now)
        decisions = dict.fromkeys(self._numbers, NO_RULE)
        for said in self._by_rules(court, policy, now):
            decisions.update(said)
        decisions.update(court.too_young(self.view.artifacts))
        decisions.update(self._before_rules(court, policy, now))
        return Evaluation(decisions=decisions, now=now)

    def _before_rules(self, court: "_Court", policy: Policy, now: datetime) -> Mapping[int, Decision]:
        in_force = tuple(each for each in policy.protects if not has_expired(each, now))
        key = (in_force, _instant(now, [each.match for each in in_force]))
        if key not in self._protected:
            self._protected[key] = court.standing(self._by_kind)
        return self._protected[key]

    def _by_rules(self, court: "_Court", policy: Policy, now: datetime) -> Iterator[Mapping[int, Decision]]:
        matchers = tuple(rule.match for rule in policy.rules)
        key = (matchers, _instant(now, matchers))
        if key not in self._assigned:
            self._assigned[key] = court.assign(self._by_kind)
        assigned = self._assigned[key]
        yield court.in_doubt(assigned)
        for number, (rule, members) in enumerate(zip(policy.rules, assigned.members, strict=True), start=1):
            asks_the_age = rule.keep.newer_than is not None
            of_rule = (matchers[:number], rule, now if asks_the_age else _instant(now, matchers[:number]))
            if of_rule not in self._ruled:
                self._ruled[of_rule] = rule_on(rule, members, now=now)
            yield self._ruled[of_rule]


def of_kinds(artifacts: Sequence[Facts]) -> Mapping[ArtifactKind, Sequence[Facts]]:
    """Return the artifacts by their kind, so that nobody asks each of a million for it."""
    found = ((kind, [facts for facts in artifacts if facts.kind is kind]) for kind in ArtifactKind)
    return {kind: of_kind for kind, of_kind in found if of_kind}


def _instant(now: datetime, matchers: Iterable[Matcher]) -> datetime | None:
    """Return the instant, or None where none of the matchers asks for it."""
    return now if any(map(asks_the_clock, matchers)) else None


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
    assigned = court.assign(of_kinds(view.artifacts))
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

    def before_rules(self, facts: Facts) -> Decision | None:
        """Return what keeps the artifact whatever the rules say."""
        return builtin_of(facts) or self._protections.decision(facts) or self._too_young(facts)

    def _too_young(self, facts: Facts) -> Decision | None:
        if facts.created_at <= self._youngest:
            return None
        age, least = spell_age(self._now - facts.created_at), duration_text(self._policy.min_age)
        sentence = f"keep: {age} old, and nothing younger than {least} may go"
        return Decision(action=None, because="defaults.min_age", sentence=sentence)

    def too_young(self, artifacts: Iterable[Facts]) -> Mapping[int, Decision]:
        """Return what keeps those that are younger than anything that may go, by artifact id."""
        youngest = self._youngest
        young = [facts for facts in artifacts if facts.created_at > youngest]
        return {facts.artifact_id: decision for facts in young if (decision := self._too_young(facts)) is not None}

    def standing(self, by_kind: Mapping[ArtifactKind, Iterable[Facts]]) -> Mapping[int, Decision]:
        """Return what built-in protections and protects keep, by artifact id."""
        found: dict[int, Decision] = {}
        for kind, artifacts in by_kind.items():
            protected = self._protections.among(kind)
            for facts in artifacts:
                decision = builtin_of(facts) or (protected and protected(facts))
                if decision is not None:
                    found[facts.artifact_id] = decision
        return found

    def assign(self, by_kind: Mapping[ArtifactKind, Iterable[Facts]]) -> Assigned:
        """Return for each rule what it is the first to match."""
        members: list[list[Facts]] = [[] for _ in self._rules]
        doubtful: list[tuple[int, Facts]] = []
        for kind, artifacts in by_kind.items():
            left = [facts for facts in artifacts if facts.complete and facts.live]
            for number, (_, match) in enumerate(self._rules):
                asked = match.among(kind)
                if asked is None:
                    continue
                if not asked.conditions:
                    members[number] += left
                    break
                answers = list(map(asked.answer, left))
                members[number] += [facts for facts, answer in zip(left, answers, strict=True) if answer is Holds.YES]
                doubtful += [
                    (number, facts) for facts, answer in zip(left, answers, strict=True) if answer is Holds.UNKNOWN
                ]
                left = [facts for facts, answer in zip(left, answers, strict=True) if answer is Holds.NO]
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
