"""A catalog file that was copied back by hand: the links it lacks are not known to be none."""

import shutil

import pytest

from tests.bench.site import Site

pytestmark = pytest.mark.system


def test_after_a_link_was_lost_by_copying_an_older_file_back_nothing_goes_until_that_is_confirmed(site: Site) -> None:
    site.superseded("old")
    site.dump("child")
    site.done("scan")
    state = site.cli.home / "state" / "artifactctl"
    older = site.cli.home / "older"
    shutil.copytree(state, older)
    site.done("supersede", "vol/child", "--by", "vol/old-new")
    shutil.rmtree(state)
    shutil.copytree(older, state)

    refused = site("reclaim", "vol/old", "--yes", "--reason", "test")
    plan = site("plan", "extraction", "--tokens", "1", "--volume", "vol", "--json").json()
    doctor = site("doctor")
    asked = site("doctor", "--repair")
    confirmed = site("doctor", "--repair", "--yes")

    assert refused.code == 4
    assert "older copy" in refused.stdout + refused.stderr
    assert plan["reclaim"] == []
    assert doctor.code == 3
    assert "older copy of itself" in doctor.stdout
    assert asked.code == 2
    assert "Links recorded since are lost" in asked.stderr
    assert confirmed.code == 0, confirmed
    site.done("reclaim", "vol/old", "--yes", "--reason", "test")
