"""`host forget`: a machine is not worked with any more, and what was done on it stays known."""

import json

import pytest

from tests.machines.park import Park


@pytest.fixture
def stocked(park: Park) -> Park:
    """`one/hs` is registered on gpu1."""
    park.stock(park.machines["gpu1"], "hs")
    park.must("register", "gpu1:/data/hs", "--kind", "hidden_states")
    return park


def names(park: Park) -> list[str]:
    return [each["name"] for each in json.loads(park.must("host", "ls", "--json").stdout)["hosts"]]


def test_a_machine_with_a_root_is_refused_with_what_is_next(stocked: Park) -> None:
    refused = stocked.run("host", "forget", "gpu1", "--yes")

    assert refused.exit_code == 4
    assert "gpu1 has 1 root (one) with 1 artifact" in refused.stderr
    assert "`artifactctl leave gpu1 --by TIME`" in refused.stderr
    assert "`artifactctl root forget one`" in refused.stderr
    assert names(stocked) == ["gpu1", "gpu2"]


def test_a_machine_without_roots_is_forgotten_without_being_asked_and_its_past_is_not(stocked: Park) -> None:
    stocked.unplugged.add("gpu1")
    stocked.must("root", "forget", "one", "--yes")

    gone = stocked.must("host", "forget", "gpu1", "--yes")
    unknown = stocked.run("du", "gpu1:/data")
    again = stocked.run("host", "forget", "gpu1", "--yes")

    assert gone.stdout == "gpu1 is not worked with any more\n"
    assert names(stocked) == ["gpu2"]
    assert (unknown.exit_code, again.exit_code) == (2, 2)
    assert "the catalog knows no machine `gpu1`" in unknown.stderr
    shown = json.loads(stocked.must("ls", "--json").stdout)["artifacts"]
    assert [(each["name"], each["host"]) for each in shown] == [("one/hs", "gpu1")]
    (event,) = json.loads(stocked.must("audit", "ls", "--action", "host.forget", "--json").stdout)["events"]
    assert event["actor"].endswith("@laptop")
    with stocked.catalog() as catalog, catalog.reading() as reading:
        assert [known.name for known in reading.hosts_ever() if known.forgotten_at] == ["gpu1"]
    for everything in ("df", "doctor", "show one/hs", "audit verify"):
        assert stocked.run(*everything.split()).exit_code == 0, everything
    asked = stocked.run("why", "one/hs")
    assert "the machine gpu1 was forgotten, and nothing is asked there" in asked.stderr
    assert stocked.connected == []


def test_a_machine_that_is_asked_about_a_volume_of_another_one_is_refused(park: Park) -> None:
    park.must("root", "attest", "one", "--sole-clients", "gpu1,gpu2", "--reason", "both mount it", "--yes")

    refused = park.run("host", "forget", "gpu2", "--yes")

    assert refused.exit_code == 4
    assert "gpu2 is asked who uses the volume of the root `one`" in refused.stderr
    assert "artifactctl root attest one" in refused.stderr


def test_nobody_forgets_the_machine_they_type_on(park: Park) -> None:
    park.must("root", "add", "/data", "--name", "own")
    park.must("root", "forget", "own", "--yes")

    refused = park.run("host", "forget", "laptop", "--yes")

    assert refused.exit_code == 2
    assert "laptop is this machine" in refused.stderr


def test_a_confirmation_is_needed(park: Park) -> None:
    assert park.run("host", "forget", "gpu2").exit_code == 2
    assert names(park) == ["gpu1", "gpu2"]
