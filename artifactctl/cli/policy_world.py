"""What a policy is held against when it is linted: the site's limits, and the catalog where one was named."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from artifactctl.cli.wiring import Wiring
    from artifactctl.policy.linting import Surroundings


def lint_surroundings(wiring: "Wiring", *, named: bool) -> "Surroundings":
    """Return the limits that the configuration sets; a file the site did not write need not keep to them.

    `named`: the files were named, so they are somebody's own.
    """
    from artifactctl.configuration.policy_files import FILES_KEY
    from artifactctl.policy.linting import SiteLimits, Surroundings

    if not (named or FILES_KEY in wiring.settings.values):
        return Surroundings()
    limits, said = wiring.limits, wiring.settings.values
    return Surroundings(
        site=SiteLimits(
            max_bytes=limits.max_bytes if "policy.max_bytes" in said else None,
            max_artifacts=limits.max_artifacts if "policy.max_artifacts" in said else None,
        )
    )
