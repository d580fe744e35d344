"""The policy that a command line means: the files it names, else the one in force."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from artifactctl.cli.wiring import Wiring
    from artifactctl.configuration.policy_files import PolicyText


def named_or_in_force(wiring: "Wiring", words: Sequence[str]) -> "tuple[PolicyText, ...]":
    """Return the files that `words` name; without words those in force, which is then said."""
    from artifactctl.configuration.policy_files import policy_texts, texts_in_force

    here = wiring.surroundings.working_directory
    if words:
        return policy_texts(words, working_directory=here)
    in_force = texts_in_force(wiring.settings, working_directory=here)
    wiring.output.note(f"the policy in force: {', '.join(name for name, _ in in_force)}")
    return in_force
