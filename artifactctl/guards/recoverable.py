"""`recoverable`: what is lost can be had again."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import first_of


class Recoverable:
    """Blocks what nobody could get back: waivable with a reason.

    Clear when another verified copy exists; or its recipe is recorded and every input lives and is in no plan with it;
    or a complete, verified successor exists. What somebody could be writing to right now is none of these. Blocks as
    well when something already removed could be rebuilt only from this one (I8), unless its verified successor stays.
    """

    name: ClassVar[str] = "recoverable"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return the way back, or why there is none."""
        del observation
        if not candidate.lineage_trusted:
            return self._blocked(
                "the catalog was rebuilt, restored or is an older copy, and nobody has confirmed its lineage",
                ("lineage", "?"),
            )
        only_from_this = [child.name for child in candidate.rebuilt_from_this if not child.replaced_by]
        if only_from_this:
            names = first_of(only_from_this)
            return self._blocked(f"{names}, already removed, could be built again only from it", ("only_input", names))
        if candidate.other_copies:
            where = candidate.other_copies[0].root.name
            return self._clear(f"another verified copy is on `{where}`", ("copy", where))
        successor = candidate.successor
        if successor is not None and successor.living and successor.verified and not successor.in_same_plan:
            return self._clear(f"superseded by {successor.name}, which is verified", ("successor", successor.name))
        recipe = candidate.recipe
        if recipe is not None and recipe.complete and all(i.living and not i.in_same_plan for i in recipe.inputs):
            names = first_of([item.name for item in recipe.inputs])
            return self._clear(f"can be built again from {names}", ("inputs", names))
        return self._blocked(self._why_not(candidate), ("recoverable", "no"))

    def _why_not(self, candidate: Candidate) -> str:
        reasons = []
        successor = candidate.successor
        if successor is not None:
            if successor.in_same_plan:
                reasons.append(f"its successor {successor.name} would go in the same plan")
            elif not successor.living:
                reasons.append(f"its successor {successor.name} is gone")
            elif successor.doubt:
                reasons.append(f"its successor {successor.name} may be changing: {successor.doubt}")
            else:
                reasons.append(f"its successor {successor.name} has not been verified since its last change")
        recipe = candidate.recipe
        if recipe is None:
            reasons.append("no recipe is recorded")
        elif not recipe.complete:
            reasons.append(f"its recipe names no {' and no '.join(recipe.missing_kinds)}")
        else:
            lost = [i.name for i in recipe.inputs if not i.living]
            together = [i.name for i in recipe.inputs if i.living and i.in_same_plan]
            changing = [i for i in recipe.inputs if not i.living and i.doubt]
            if changing:
                reasons.append(f"its input {changing[0].name} may be changing: {changing[0].doubt}")
            elif lost:
                reasons.append(f"its input {first_of(lost)} is gone, or not as the catalog knows it")
            if together:
                reasons.append(f"its input {first_of(together)} would go in the same plan")
        return "nobody can rebuild it: " + "; ".join(reasons) + "; no other verified copy"

    def _clear(self, reason: str, fact: tuple[str, str]) -> Evidence:
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason=reason, facts=(fact,))

    def _blocked(self, reason: str, fact: tuple[str, str]) -> Evidence:
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=reason,
            facts=(fact,),
            remedy='record its inputs with `artifactctl link`, or give it up: `--waive recoverable --reason "..."`',
        )
