"""The checks that stand before a removal: one guard, one file, one class.

Each guard has a `name` and `check(candidate, observation) -> Evidence`; it sees only its arguments and is pure. All
guards run for every candidate and none stops the others, so a person sees every reason at once. `unknown` blocks as
`blocked` does (I3), and adding a guard never makes more removable (I4): evidence is only ever conjoined.

Hard guards cannot be waived by anybody; `WAIVABLE` names the ones a person may waive, one by one, with a reason.
"""

from artifactctl.guards.candidate import Candidate, Guard
from artifactctl.guards.standard import HARD, WAIVABLE, evaluate, standard_guards

__all__ = ["HARD", "WAIVABLE", "Candidate", "Guard", "evaluate", "standard_guards"]
