"""What a run reads stays until the run has ended."""

import time
from datetime import timedelta

import pytest

from artifactctl.domain.errors import Refused
from tests.train.site import Site
from train.checkpoints import complete_checkpoints

LOOK = ("reclaim", "states", "--dry-run", "--waive", "settled", "--reason", "it was made a moment ago")


def test_states_in_use_by_a_run_are_kept_by_its_lease_until_it_ends(site: Site) -> None:
    site.add_states("better")
    seen: list[str] = []

    def look() -> bool:
        if not seen:
            site.command("register", str(site.root / "better"), "--kind", "hidden_states", "--supersedes", "states")
            seen.append(site.command(*LOOK, code=4))
        return False

    site.train(should_stop=look)

    assert "states is leased by" in seen[0], seen
    after = site.command(*LOOK, code=4)
    assert "is leased by" not in after, after
    assert "artifactctl verify run-step-2" in after, "its unverified checkpoints still need it"


def test_no_checkpoint_is_written_once_the_lease_on_its_inputs_has_ended(site: Site) -> None:
    def outlast_it() -> bool:
        time.sleep(3)
        return False

    with pytest.raises(Refused, match="the lease on states, map has ended"):
        site.train(longest=timedelta(seconds=5), should_stop=outlast_it)

    assert complete_checkpoints(site.out) == ()
