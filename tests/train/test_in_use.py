"""What a run reads stays until the run has ended."""

from tests.train.site import Site

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
