"""What a policy is held against when it is linted: the site's limits, and the catalog or export that was named."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from artifactctl.cli.wiring import Wiring
    from artifactctl.policy.linting import SiteLimits, Surroundings
    from artifactctl.policy.ruleset import Policy


def lint_surroundings(
    wiring: "Wiring", policy: "Policy | None", *, named: bool, snapshot: bytes | None
) -> "Surroundings":
    """Return the limits that the configuration sets, what a named catalog or export holds, and how long restores took.

    `named`: the files were named on the command line.
    """
    from artifactctl.cli.policy_words import reading_of
    from artifactctl.inventory.policy_view import catalogue_view
    from artifactctl.inventory.restore_history import slowest_restore
    from artifactctl.policy.linting import Surroundings

    site = _site_limits(wiring, named=named)
    if policy is None or (wiring.choices.catalog is None and snapshot is None):
        return Surroundings(site=site)
    with reading_of(wiring, snapshot) as (reading, now):
        view = catalogue_view(reading, now=now, policy=policy)
        # An export holds no audit log, so it cannot tell how long restores took.
        slowest = slowest_restore(reading, now=now) if snapshot is None else None
        return Surroundings(site=site, view=view, slowest_restore=slowest)


def _site_limits(wiring: "Wiring", *, named: bool) -> "SiteLimits":
    """Return what the configuration allows at most; the shipped default, which the site did not write, may differ."""
    from artifactctl.configuration.policy_files import FILES_KEY
    from artifactctl.policy.linting import SiteLimits

    said, limits = wiring.settings.values, wiring.limits
    if not named and FILES_KEY not in said:
        return SiteLimits()
    return SiteLimits(
        max_bytes=limits.max_bytes if "policy.max_bytes" in said else None,
        max_artifacts=limits.max_artifacts if "policy.max_artifacts" in said else None,
    )
