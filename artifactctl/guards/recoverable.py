"""`recoverable`: what is lost can be had again."""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Replica
from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate, Recipe, Successor
from artifactctl.guards.wording import first_of


class Recoverable:
    """Blocks what nobody could get back: waivable with a reason.

    Clear when another verified copy exists; or its recipe is recorded and every input lives and is in no plan with it;
    or a complete, verified successor exists and nothing was written into the candidate since that was recorded. What
    somebody could be writing to right now, or nobody can look at, is none of these. Blocks as well when something
    already removed could be rebuilt only from this one (I8), unless its verified successor stays.
    """

    name: ClassVar[str] = "recoverable"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return the way back, or why there is none."""
        if candidate.root_untold is not None:
            return Evidence(
                guard=self.name,
                verdict=Verdict.UNKNOWN,
                reason=f"whether the catalog is an older copy is not known: {candidate.root_untold.reason}",
                remedy=candidate.root_untold.remedy,
            )
        if not candidate.lineage_trusted:
            return self._blocked(
                candidate,
                "the catalog was rebuilt, restored or is an older copy, and nobody has confirmed its lineage",
                ("lineage", "?"),
            )
        only_from_this = [child.name for child in candidate.rebuilt_from_this if not child.replaced_by]
        if only_from_this:
            names = first_of(only_from_this)
            return self._blocked(
                candidate, f"{names}, already removed, could be built again only from it", ("only_input", names)
            )
        copies = candidate.copies_of_what_lies_there(observation)
        if copies:
            where = _where(copies[0])
            return self._clear(f"another verified copy is {where}", ("copy", where))
        successor, new_content = candidate.successor, _new_content(candidate, observation)
        replaced = successor is not None and successor.living and successor.verified and not successor.in_same_plan
        if successor is not None and replaced and not new_content:
            return self._clear(f"superseded by {successor.name}, which is verified", ("successor", successor.name))
        recipe = candidate.recipe
        if recipe is not None and recipe.complete and all(i.living and not i.in_same_plan for i in recipe.inputs):
            names = first_of([item.name for item in recipe.inputs])
            return self._clear(f"can be built again from {names}", ("inputs", names))
        return self._blocked(
            candidate,
            self._why_not(candidate, new_content),
            ("recoverable", "no"),
            verdict=Verdict.UNKNOWN if candidate.doubted_copies else Verdict.BLOCKED,
        )

    def _why_not(self, candidate: Candidate, new_content: str) -> str:
        reasons = [*_about_successor(candidate.successor, new_content), *_about_recipe(candidate.recipe)]
        return "nobody can rebuild it: " + "; ".join(reasons) + f"; {_about_copies(candidate)}"

    def _clear(self, reason: str, fact: tuple[str, str]) -> Evidence:
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason=reason, facts=(fact,))

    def _blocked(
        self, candidate: Candidate, reason: str, fact: tuple[str, str], *, verdict: Verdict = Verdict.BLOCKED
    ) -> Evidence:
        return Evidence(
            guard=self.name,
            verdict=verdict,
            reason=reason,
            facts=(fact,),
            remedy=f"record its inputs with `artifactctl link`, or give it up: {candidate.waiving(self.name)}",
        )


def _where(copy: Replica | ArchiveCopy) -> str:
    return f"at {copy.url}" if isinstance(copy, ArchiveCopy) else f"on `{copy.root.name}`"


def _about_copies(candidate: Candidate) -> str:
    """Return why no other copy makes it recoverable."""
    others: tuple[Replica | ArchiveCopy, ...] = (*candidate.other_copies, *candidate.archives)
    if others:
        return f"it was written to after the copy {_where(others[0])} was verified"
    if candidate.doubted_copies:
        return f"whether another copy is left is not known: {candidate.doubted_copies[0]}"
    return candidate.archive_doubt or "no other verified copy"


def _about_successor(successor: Successor | None, new_content: str) -> Iterator[str]:
    """Yield why what supersedes it does not make it recoverable."""
    if successor is None:
        return
    if successor.in_same_plan:
        yield f"its successor {successor.name} would go in the same plan"
    elif not successor.living:
        yield f"its successor {successor.name} is gone"
    elif successor.doubt:
        yield f"its successor {successor.name} is no proof now: {successor.doubt}"
    elif not successor.verified:
        yield f"its successor {successor.name} has not been verified since its last change"
    else:
        yield new_content


def _about_recipe(recipe: Recipe | None) -> Iterator[str]:
    """Yield why its recipe does not make it recoverable."""
    if recipe is None:
        yield "no recipe is recorded"
        return
    if not recipe.complete:
        yield f"its recipe names no {' and no '.join(recipe.missing_kinds)}"
        return
    lost = [i.name for i in recipe.inputs if not i.living]
    together = [i.name for i in recipe.inputs if i.living and i.in_same_plan]
    changing = [i for i in recipe.inputs if not i.living and i.doubt]
    if changing:
        yield f"its input {changing[0].name} is no proof now: {changing[0].doubt}"
    elif lost:
        yield f"its input {first_of(lost)} is gone, or not as the catalog knows it"
    if together:
        yield f"its input {first_of(together)} would go in the same plan"


def _new_content(candidate: Candidate, observation: Observation) -> str:
    """Return that something was written into it after it was called superseded; "" when nothing was."""
    successor, tree = candidate.successor, observation.tree
    if successor is None or successor.since is None or tree is None:
        return ""
    if not candidate.written_after(successor.since, observation):
        return ""
    name, after = candidate.artifact.name, f"after it was recorded as superseded by {successor.name}"
    again = f"say so again with `artifactctl supersede {name} --by {successor.name}`"
    if tree.changed_at <= successor.since:
        return (
            f"what lies there came to its place at {_instant(tree.placed_at)}, {after}, and is not what the catalog "
            f"saw there before (look at it; if it may go as it is, `artifactctl scan`, then {again})"
        )
    if tree.written_at > successor.since:
        return f"it was written to at {_instant(tree.written_at)}, {after} ({again})"
    failed = candidate.failed_digests
    if failed is not None and failed.fingerprint == tree.fingerprint:
        problem = failed.problems[0] if failed.problems else "it is not as it was"
        return (
            f"it was written to {after}: `verify --level digests` of {_instant(failed.verified_at)} says {problem} "
            f"(look at it; {again} if it may go as it is)"
        )
    digests_tell = candidate.hashed_first is not None and candidate.hashed_first <= successor.since
    verify = f"`artifactctl verify {name} --level digests` tells, or " if digests_tell else ""
    return (
        f"it was touched at {_instant(tree.changed_at)}, {after}: a write whose mtime was put back, or only a link or "
        f"permissions ({verify}{again})"
    )


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
