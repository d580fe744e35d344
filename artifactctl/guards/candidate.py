"""What the catalog knows about one replica that somebody would like to remove."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    Hold,
    Lease,
    LineageRole,
    Replica,
    Reservation,
    VerifyLevel,
)
from artifactctl.domain.attestation import Statement
from artifactctl.domain.ledger import Verification
from artifactctl.domain.observation import Observation, TreeSummary
from artifactctl.domain.verdicts import Evidence
from artifactctl.policy.ruleset import Protect, RequireSuccessor


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A child in the lineage, as far as a removal of the parent is concerned.

    `finished` is false while a copy is being built or the run that makes it is unfinished; `verified` means verified
    since its last change; `leased` and `held` count promises on the child itself. Here as below, `doubt` says who could
    be writing to it right now, or why that is not known: nothing is proven by it then.
    """

    name: str
    kind: ArtifactKind
    role: LineageRole
    living: bool
    finished: bool
    verified: bool
    leased: bool
    held: bool
    doubt: str = ""
    in_same_plan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeInput:
    """A parent that would be needed to build the candidate again."""

    name: str
    role: LineageRole
    living: bool
    in_same_plan: bool
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the candidate could be built again, from all the inputs that the lineage names.

    `complete` says that among them is one of a kind that such an artifact is made from: one kind is enough, since there
    are several ways to make the same thing (a checkpoint from hidden states or from a corpus). `missing_kinds` says
    which would have done when there is none.
    """

    inputs: tuple[RecipeInput, ...]
    complete: bool
    missing_kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedChild:
    """Something without a live copy that was built from the candidate.

    `replaced_by` names what supersedes it, directly or in turn, and was seen on disk as it was verified; "" when
    nothing does: then it could be had again only by building it.
    """

    name: str
    replaced_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """The artifact that supersedes the candidate; `kind` is None when the catalog does not know it any more.

    `since` is when that was said last: what was written into the candidate later, nobody said to be superseded.
    """

    name: str
    kind: ArtifactKind | None
    living: bool
    verified: bool
    in_same_plan: bool
    since: datetime | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """Something that only the root's own folder tells, which cannot be read: why, and what to do about it."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One replica with everything the catalog says that could keep it.

    `leases`, `holds` and `reservations` are those on the artifact itself, on an artifact whose path lies above, and on
    one whose path lies below. `other_copies` are other live replicas verified since their last change;
    `doubted_copies` say why others that were verified once prove nothing now (their machine does not answer).
    `archives` are verified copies in object stores that were seen there just now, `archive_doubt` says why one that
    there should be does not count. `rebuilt_from_this` are artifacts without a live copy that would need this one to be
    built again.
    `hashed_first` is when its members had the digests for the first time that they still had when it was verified last;
    None where that was not by digests. `failed_digests` is the verification that was made last, where it was by digests
    and failed.
    `nested` are artifacts of their own inside of it: name, and path relative to this one.
    `planned_fingerprint` is None while planning. `offered_by` is the policy rule that offers it ("" when none does:
    `kept_because` is then the policy's sentence). `protect` is the one of the policy that covers it, `archived_by` the
    rule that offers it if that is one that archives. What the rule asks for is asked again of what is on disk now:
    `required_successor`, and `required_copies` verified ones that are left; neither where the operator named it.
    `statement` is what is on record about who else can have files open on its volume. What was set aside on it may not
    go before `purge_not_before` (None where nothing is to be purged), by the clock that asks (`purge_is_early`) and by
    that of the machine on which it lies, nor while some of the wait is not proven by that machine's uptime
    (`purge_unproven`), and never at once (`purge_at_once`). `is_set_aside`: it lies in quarantine and
    is to be purged now. `lineage_trusted` is false in a catalog that was rebuilt or restored, or that is an older copy
    of itself, and was not confirmed since; `root_untold` says that this, and which holds stand in the root, is not
    known; `clock_trusted` is false while the clock is behind what was recorded.
    """

    artifact: Artifact
    replica: Replica
    named_by_operator: bool
    offered_by: str
    planned_fingerprint: str | None
    leases: tuple[Lease, ...]
    holds: tuple[Hold, ...]
    reservations: tuple[Reservation, ...]
    dependents: tuple[Dependent, ...]
    recipe: Recipe | None
    successor: Successor | None
    other_copies: tuple[Replica, ...]
    rebuilt_from_this: tuple[RemovedChild, ...]
    quiet_time: timedelta
    kept_because: str = ""
    protect: Protect | None = None
    archived_by: str = ""
    archives: tuple[ArchiveCopy, ...] = ()
    archive_doubt: str = ""
    required_successor: RequireSuccessor | None = None
    required_copies: int = 0
    doubted_copies: tuple[str, ...] = ()
    hashed_first: datetime | None = None
    failed_digests: Verification | None = None
    nested: tuple[tuple[str, bytes], ...] = ()
    lineage_trusted: bool = True
    root_untold: Untold | None = None
    clock_trusted: bool = True
    statement: Statement | None = None
    purge_not_before: datetime | None = None
    purge_is_early: bool = False
    purge_unproven: timedelta = timedelta(0)
    purge_at_once: bool = False
    is_set_aside: bool = False

    def waiving(self, guard: str) -> str:
        """Return how a person waives a guard. A purge takes those of the removal only: for another, put it back."""
        waive = f'`--waive {guard} --reason "..."`'
        if not self.is_set_aside:
            return waive
        return f"put it back (`artifactctl quarantine restore {self.artifact.name}`) and reclaim it with {waive}"

    def copies_of_what_lies_there(self, observation: Observation) -> tuple[Replica | ArchiveCopy, ...]:
        """Return the verified copies, in roots and in stores, of exactly the content that was observed.

        What was written since a copy was verified is in no copy, though every file may have its old size, and an old
        mtime as well (`cp -p`, `rsync -t`), which is why ctimes count: unless this one was verified by its digests as
        it lies there, which all copies share.
        """
        tree = observation.tree
        if tree is None:
            return ()
        digests_hold = self.is_as_hashed(tree)
        copies = [
            c for c in self.other_copies if digests_hold or (c.verified_at and not self._touched(c.verified_at, tree))
        ]
        content = self.artifact.content_digest
        archives = [
            each
            for each in self.archives
            if each.source_fingerprint == tree.fingerprint or (digests_hold and each.content_digest == content != "")
        ]
        return (*copies, *archives)

    def is_as_hashed(self, tree: TreeSummary) -> bool:
        """Whether nothing was touched since all of it was read and had the digests on record."""
        here = self.replica
        return here.verified_level is VerifyLevel.DIGESTS and here.verified_fingerprint == tree.fingerprint

    def written_after(self, instant: datetime, observation: Observation) -> bool:
        """Whether something may have been written into it after `instant`.

        A mtime can be put back (`rsync -t`), so the ctime counts, which a link made or removed and a change of
        permissions move as well: the digests of before then say that nothing was written.
        """
        tree = observation.tree
        if tree is None or not self._touched(instant, tree):
            return False
        return not (self.is_as_hashed(tree) and self.hashed_first is not None and self.hashed_first <= instant)

    def _touched(self, instant: datetime, tree: TreeSummary) -> bool:
        """Whether something below may have changed after `instant`, or all of it took the place of what was there then.

        Another folder that was moved there brings its old times along: only what came to its place before, or is what
        the catalog had seen there before, is known to be the same. What was set aside was judged when that was done.
        """
        if tree.changed_at > instant:
            return True
        here = self.replica
        seen_before = (here.fingerprint == tree.fingerprint and here.observed_at <= instant) or (
            here.verified_fingerprint == tree.fingerprint
            and here.verified_at is not None
            and here.verified_at <= instant
        )
        return not (seen_before or self.is_set_aside or tree.placed_at <= instant)

    def is_moved_here(self, tree: TreeSummary) -> bool:
        """Whether what lies there came there after the catalog last saw it, and is not what it saw."""
        here = self.replica
        if self.is_set_aside or tree.fingerprint in (here.fingerprint, here.verified_fingerprint):
            return False
        return tree.placed_at > here.observed_at and tree.changed_at <= here.observed_at

    @property
    def goes_for_what_supersedes_it(self) -> bool:
        """Whether the rule that offers it rests on the artifact that takes its place."""
        required = self.required_successor
        return required is not None and LineageRole.SUPERSEDES in required.relation.roles


class Guard(Protocol):
    """One check."""

    name: ClassVar[str]

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return what was found about `candidate`; never raises for a fact about the world."""
        ...
