"""What uptimes prove about the time that passed, whatever any clock says."""

from datetime import timedelta

import pytest

from artifactctl.domain.uptime import Uptime, proven_since, unproven_of

HOUR = timedelta(hours=1)
BEGIN = Uptime(machine_id="gpu1", boot_id="boot-1", since_boot=10 * HOUR)


def at(hours: float, *, boot_id: str = "boot-1", machine_id: str = "gpu1") -> Uptime:
    return Uptime(machine_id=machine_id, boot_id=boot_id, since_boot=hours * HOUR)


@pytest.mark.parametrize(
    ("now", "proven"),
    [
        (at(10), 0 * HOUR),
        (at(34), 24 * HOUR),
        (at(9), 0 * HOUR),
        (at(5, boot_id="boot-2"), 5 * HOUR),
        (at(500, machine_id="gpu2", boot_id="boot-2"), 0 * HOUR),
    ],
    ids=["at once", "a day later", "a snapshot of it", "after a reboot, its uptime", "another machine"],
)
def test_an_uptime_proves_a_lower_bound_of_what_passed(now: Uptime, proven: timedelta) -> None:
    assert proven_since(BEGIN, now) == proven


def test_a_wait_is_over_when_all_of_it_is_proven() -> None:
    assert unproven_of(24 * HOUR, BEGIN, at(33)) == HOUR
    assert unproven_of(24 * HOUR, BEGIN, at(34)) == timedelta(0)
    assert unproven_of(24 * HOUR, BEGIN, None) == 24 * HOUR


def test_of_a_wait_whose_beginning_was_not_recorded_only_the_clocks_speak() -> None:
    assert unproven_of(24 * HOUR, None, at(1)) == timedelta(0)


def test_an_uptime_belongs_to_a_machine_and_a_boot() -> None:
    with pytest.raises(ValueError, match="a boot"):
        Uptime(machine_id="gpu1", boot_id="", since_boot=HOUR)
