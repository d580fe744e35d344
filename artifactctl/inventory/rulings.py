"""What the policy in force says of copies that somebody would like to remove.

What it offers is decided over the whole catalog at once, since keeping the last of a group needs the group. What it
protects is a question of its own, asked again for each copy in the transaction that acts: a protect, a label or a hold
may be new. What rules offer and a protect keeps is therefore considered, and refused by the guard `unprotected`: a
protect never makes room for something else to go.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, LineageRole, Replica, ReplicaState
from artifactctl.domain.identity import ManagedPath
from artifactctl.inventory.policy_view import view_for_rules, without_garbage_collection
from artifactctl.policy.evaluating import NO_RULE, evaluate
from artifactctl.policy.facts import Facts
from artifactctl.policy.protecting import Protections
from artifactctl.policy.ruleset import Action, Policy, Protect, Relation, RequireSuccessor, Rule

_QUESTIONS_OF_EACH = 100
"""About so many rows can be read in the time that the guards' questions about one artifact take."""

_WHAT_SUPERSEDES_IT = RequireSuccessor(relation=Relation(roles=(LineageRole.SUPERSEDES,)), verified=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the policy says of one copy. `rule` offers it; without one, `kept_because` says why not.

    `archived_by` names the rule when it is one that archives: it offers a copy only once another one is verified
    somewhere else. `protect` covers it whatever the rules say. `quiet_time` is how
    long nothing below may have changed.
    """

    quiet_time: timedelta
    protect: Protect | None = None
    rule: Rule | None = None
    kept_because: str = ""
    archived_by: str = ""

    @property
    def required_successor(self) -> RequireSuccessor | None:
        """What the rule wants to live before it goes, to be asked again of what is on disk."""
        if self.rule is None:
            return None
        if self.rule.require.successor is not None:
            return self.rule.require.successor
        return _WHAT_SUPERSEDES_IT if self.rule.match.successor_verified else None


class Rulings:
    """One policy over one catalog at one instant: evaluated once, asked of many copies.

    Known are the artifacts that some rule may match, and those in `also`: of a protect that nobody else is asked about,
    `ruling_on` tells.
    """

    def __init__(self, policy: Policy, reading: Reading, *, now: datetime, also: Collection[int] = ()) -> None:
        self._policy = policy
        self._protections = Protections(policy, now=now)
        self._rules: Mapping[str, Rule] = {rule.name: rule for rule in policy.rules}
        with without_garbage_collection():
            view = view_for_rules(reading, now=now, policy=policy, also=also)
            self._facts = {facts.artifact_id: facts for facts in view.artifacts}
            self._decisions = evaluate(replace(policy, protects=()), view, now=now).decisions
            self._offered = frozenset(key for key, decision in self._decisions.items() if decision.action is not None)
        self._living = sum(view.living.values())

    def about(self, replica: Replica) -> Ruling:
        """Return what the policy says of a copy."""
        decision = self._decisions.get(replica.artifact_id, NO_RULE)
        facts = self._facts.get(replica.artifact_id)
        return Ruling(
            quiet_time=self._policy.quiet_time,
            protect=None if facts is None else _protect_over(self._protections, facts, replica),
            rule=None if decision.kept else self._rules[decision.rule],
            kept_because=decision.sentence if decision.kept else "",
            archived_by=decision.rule if decision.action is Action.ARCHIVE else "",
        )

    @property
    def offered(self) -> frozenset[int]:
        """The artifacts that rules offer, archiving included."""
        return self._offered

    @property
    def offers_many(self) -> bool:
        """Whether so many of the living are offered that reading the whole catalog at once is the shorter way."""
        return len(self._offered) * _QUESTIONS_OF_EACH > self._living

    def under_consideration(
        self, artifacts: Collection[Artifact], *, root_ids: Collection[str]
    ) -> list[tuple[Artifact, Replica]]:
        """Return the live copies below those roots that rules offer, archiving included, in the order given.

        Where a rule wants verified copies to be left, as one that archives does, one copy of an artifact at a time: an
        unverified one first, then the oldest.
        """
        found = []
        for artifact in artifacts:
            decision = self._decisions.get(artifact.artifact_id, NO_RULE)
            if decision.kept:
                continue
            copies = [r for r in artifact.replicas if r.state is ReplicaState.LIVE and r.root.root_id in root_ids]
            if copies_wanted_by(self._rules[decision.rule]) > 0:
                copies = sorted(copies, key=lambda r: (_is_verified(r), r.replica_id))[:1]
            found += [(artifact, replica) for replica in copies]
        return found


def copies_wanted_by(rule: Rule) -> int:
    """Return how many verified copies must be left where the rule takes one: after archiving, at least that."""
    return max(rule.require.min_copies, 1 if rule.action is Action.ARCHIVE else 0)


def ruling_on(policy: Policy, reading: Reading, replica: Replica, *, now: datetime) -> Ruling:
    """Return what the policy says of a copy that somebody named: its protects, asked of the catalog as it is now."""
    if not policy.protects:
        return Ruling(quiet_time=policy.quiet_time)
    protections = Protections(policy, now=now)
    seen = reading.policy_facts((), also=(replica.artifact_id,), now=now)
    found = (_protect_over(protections, facts, replica) for facts in seen)
    return Ruling(quiet_time=policy.quiet_time, protect=next((each for each in found if each is not None), None))


def _protect_over(protections: Protections, facts: Facts, replica: Replica) -> Protect | None:
    """Return the protect over the artifact as policies see it, else over this copy at its own place."""
    found = protections.first(facts) if facts.copies else None
    return found or protections.first(_of_this_copy(facts, replica))


def _of_this_copy(facts: Facts, replica: Replica) -> Facts:
    """Return the facts with this copy's place; what lies in quarantine counts for what it was when it was live."""
    absolute = ManagedPath(root=replica.root.path, relative=replica.relative).absolute
    here = facts._replace(path=os.fsdecode(absolute), root=replica.root.name)
    if facts.copies:
        return here
    verified = int(_is_verified(replica))
    return here._replace(copies=1, verified_copies=verified, allocated_bytes=replica.allocated_bytes)


def _is_verified(replica: Replica) -> bool:
    return replica.verified_level is not None and replica.verified_fingerprint == replica.fingerprint
