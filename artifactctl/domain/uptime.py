"""How long a machine has been up: the one measure of time that nobody sets.

A wall clock can be set, wrong after a boot, or put right; a wait that ends by it alone ends early when it jumps ahead.
CLOCK_BOOTTIME only ever grows, suspended time included, and begins at zero with each boot. So it proves a lower bound
of what has passed: within one boot the difference, after a reboot the uptime of the present boot.
"""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Uptime:
    """One instant on one machine, by how long it had been up then."""

    machine_id: str
    boot_id: str
    since_boot: timedelta

    def __post_init__(self) -> None:
        if not self.machine_id or not self.boot_id:
            raise ValueError("an uptime belongs to a machine and a boot")


def proven_since(begin: Uptime, now: Uptime) -> timedelta:
    """Return how much time has passed at least; zero where another machine is asked, which was not there then."""
    if begin.machine_id != now.machine_id:
        return timedelta(0)
    if begin.boot_id != now.boot_id:
        return now.since_boot
    return max(now.since_boot - begin.since_boot, timedelta(0))


def unproven_of(wait: timedelta, begin: Uptime | None, now: Uptime | None) -> timedelta:
    """Return how much of a wait is not proven to have passed, zero where all is.

    None for `begin`: it began under a version that did not record it, and only the clocks speak of it. None for `now`:
    the machine was not asked, and nothing is proven.
    """
    if begin is None:
        return timedelta(0)
    proven = timedelta(0) if now is None else proven_since(begin, now)
    return max(wait - proven, timedelta(0))
