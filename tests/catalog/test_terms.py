"""A promise is over once every clock that can be asked says so: no clock set ahead ends one that is kept alive."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from artifactctl.catalog import LeaseLost
from artifactctl.domain.errors import Busy
from artifactctl.domain.uptime import Uptime
from tests.bench.databases import ON_POSTGRESQL

HOUR = timedelta(hours=1)


class Machine:
    """One boot of a machine that has been up for an hour when the tests begin."""

    def __init__(self, boot_id="boot-1"):
        self.boot_id = boot_id
        self.since_boot = HOUR

    def uptime(self):
        return Uptime(machine_id="m-1", boot_id=self.boot_id, since_boot=self.since_boot)


@pytest.fixture
def machine(catalog):
    here = Machine()
    catalog.measure_by(here.uptime)
    return here


def lease(writing, artifact, until):
    return writing.grant_lease(artifact.artifact_id, owner="job", host="here", expires_at=until)


def leases(catalog, now):
    with catalog.reading() as reading:
        return reading.leases(now)


def test_a_clock_that_jumped_ahead_ends_no_lease(place, catalog, machine, noon):
    artifact = place("a")
    with catalog.writing("ada", noon) as writing:
        granted = lease(writing, artifact, noon + HOUR)

    assert leases(catalog, noon + 48 * HOUR) == (granted,)

    machine.since_boot += HOUR - timedelta(microseconds=1)
    assert leases(catalog, noon + 48 * HOUR) == (granted,)
    machine.since_boot += timedelta(microseconds=1)
    assert leases(catalog, noon + 48 * HOUR) == ()
    assert leases(catalog, noon) == (granted,)  # by the clock it is in force: both have to say that it is over


def test_its_holder_renews_it_although_the_clock_jumped(place, catalog, machine, noon):
    artifact = place("a")
    with catalog.writing("ada", noon) as writing:
        granted = lease(writing, artifact, noon + HOUR)
    machine.since_boot += HOUR / 2

    with catalog.writing("ada", noon + 5 * HOUR) as writing:
        renewed = writing.renew_lease(granted.lease_id, owner="job", expires_at=noon + 6 * HOUR)

    assert renewed.expires_at == noon + 6 * HOUR
    machine.since_boot += HOUR
    with catalog.writing("ada", noon + 6 * HOUR) as writing, pytest.raises(LeaseLost):
        writing.renew_lease(granted.lease_id, owner="job", expires_at=noon + 7 * HOUR)


def test_after_a_reboot_the_clock_alone_speaks(place, catalog, machine, noon):
    artifact = place("a")
    with catalog.writing("ada", noon) as writing:
        granted = lease(writing, artifact, noon + HOUR)
    machine.boot_id, machine.since_boot = "boot-2", timedelta(0)

    assert leases(catalog, noon + HOUR / 2) == (granted,)
    assert leases(catalog, noon + HOUR) == ()


def test_a_clock_that_jumped_ahead_ends_no_reservation(catalog, machine, noon):
    with catalog.writing("ada", noon) as writing:
        booked = writing.reserve(
            "uuid-1", host_id=1, path=b"/data/x", reserved_bytes=5, purpose="run", expires_at=noon + HOUR
        )

    def in_force():
        with catalog.reading() as reading:
            return reading.reservations(noon + 48 * HOUR)

    assert in_force() == (booked,)
    machine.since_boot += HOUR
    assert in_force() == ()


def test_a_clock_behind_that_of_others_makes_no_lease_that_they_do_not_see(place, catalog, noon):
    artifact = place("a")
    with catalog.writing("bob", noon + 5 * HOUR):
        pass

    with catalog.writing("ada", noon) as writing:
        granted = lease(writing, artifact, noon + HOUR)
        again = writing.renew_lease(granted.lease_id, owner="job", expires_at=noon + HOUR)

    assert granted.expires_at == again.expires_at == noon + 6 * HOUR


@ON_POSTGRESQL
def test_the_clock_of_the_server_has_to_agree(place, catalog):
    with catalog.reading() as reading:
        seconds = reading.connection.execute(text("select extract(epoch from clock_timestamp())")).scalar_one()
    real = datetime.fromtimestamp(float(seconds), UTC)
    artifact = place("a")
    with catalog.writing("ada", real) as writing:
        granted = lease(writing, artifact, real + HOUR)
        writing.take_root("root-1", machine_id="m-2")

    assert leases(catalog, real + 48 * HOUR) == (granted,)
    with catalog.writing("bob", real + 48 * HOUR) as writing, pytest.raises(Busy, match="from another machine"):
        writing.take_root("root-1", machine_id="m-1")
