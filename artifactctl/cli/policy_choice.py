"""Which policy a command works under: what is configured, and what `--policy` names for this run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import UsageError

if TYPE_CHECKING:
    from artifactctl.configuration.footing import Footing
    from artifactctl.configuration.policy_in_force import PolicyTexts
    from artifactctl.policy.ruleset import Policy


def policy_for(wiring: Wiring, named: "PolicyTexts" = ()) -> "Policy":
    """Return the policy in force, under the files named for this run."""
    from artifactctl.configuration.policy_in_force import policy_in_force

    around = wiring.surroundings
    return policy_in_force(wiring.settings, around.environment, working_directory=around.working_directory, named=named)


def texts_named(wiring: Wiring, words: Sequence[bytes]) -> "PolicyTexts":
    """Return the policy files of `--policy`, else those of ARTIFACTCTL_POLICY_FILES: what a plan keeps."""
    import os

    from artifactctl.configuration.policy_in_force import named_texts, texts_of_environment

    around = wiring.surroundings
    if not words:
        return texts_of_environment(around.environment, working_directory=around.working_directory)
    return named_texts([os.fsdecode(word) for word in words], working_directory=around.working_directory)


def footing_under(wiring: Wiring, words: Sequence[str], *, with_shipped_default: bool = True) -> "Footing":
    """Return what is configured beside the policy files that `words` name, as a run with them would count it."""
    from artifactctl.configuration.footing import footing_of

    around = wiring.surroundings
    return footing_of(
        words,
        wiring.settings,
        around.environment,
        working_directory=around.working_directory,
        with_shipped_default=with_shipped_default,
    )


def policy_if_readable(wiring: Wiring) -> "Policy":
    """Return the policy in force; where it cannot be read, one under which nothing may go, with a warning.

    For commands that remove nothing and must work all the same: putting back, looking.
    """
    from artifactctl.policy.layering import NOTHING_MAY_GO

    try:
        return policy_for(wiring)
    except UsageError as problem:
        wiring.output.warning(f"the policy cannot be read, so nothing may go: {problem.message}")
        return NOTHING_MAY_GO
