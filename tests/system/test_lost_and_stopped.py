"""What people do to a quarantine by hand, and the way out of each: taken away, emptied, something put into it."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.hosts.probe.points import VARIABLE
from tests.bench.site import Site, picture

pytestmark = pytest.mark.system


def aside(site: Site) -> Path:
    """Return what lies in the root's one quarantine."""
    (content,) = site.content_in_quarantine()
    return content


def findings(site: Site) -> list[dict[str, object]]:
    """Return what doctor finds; it must exit 3 when that is anything."""
    said = site("doctor", "--json")
    found = list(said.json()["findings"])
    assert said.code == (3 if found else 0), said
    return found


@pytest.mark.parametrize("how", ["deleted", "moved away with its folder"])
def test_what_vanished_from_quarantine_is_named_and_closed_as_missing_by_a_confirmed_repair(
    site: Site, how: str
) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    if how == "deleted":
        shutil.rmtree(aside(site))
    else:
        aside(site).parent.rename(site.outside / "taken")

    (found,) = findings(site)
    unconfirmed = site("doctor", "--repair", "--json")
    states = site.states()
    confirmed = site("doctor", "--repair", "--yes", "--json")

    assert "neither at its place nor in quarantine" in str(found["what"])
    assert "doctor --repair" in str(found["remedy"])
    assert (unconfirmed.code, states[name]) == (3, "quarantined")
    assert "--yes" in unconfirmed.stderr
    assert (confirmed.code, len(confirmed.json()["repaired"])) == (0, 1)
    assert site.states()[name] == "missing"
    assert findings(site) == []
    (event,) = site.done("audit", "ls", "--action", "recover.lost", "--json").json()["events"]
    assert event["artifact"] == name
    site.done("audit", "verify")
    site.done("root", "forget", "vol", "--yes")


def test_what_was_given_up_is_found_again_by_a_scan_when_it_turns_up_at_its_old_path(site: Site) -> None:
    name = site.superseded("old")
    before = picture(site.root / "old")
    site.set_aside(name)
    aside(site).rename(site.outside / "taken")
    site.done("doctor", "--repair", "--yes")
    (site.outside / "taken").rename(site.root / "old")

    site.done("scan", "vol")

    assert site.states()[name] == "live"
    assert picture(site.root / "old") == before
    assert findings(site) == []
    assert site.set_aside(name)["outcome"] == "quarantined"
    site.done("quarantine", "purge", name, "--yes")


def test_what_is_put_back_into_quarantine_before_it_was_given_up_is_there_again(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    place = aside(site)
    place.rename(site.outside / "taken")
    assert len(findings(site)) == 1
    (site.outside / "taken").rename(place)

    assert findings(site) == []
    site.done("quarantine", "purge", name, "--yes")


@pytest.mark.parametrize("way", ["quarantine purge", "doctor --repair"])
def test_a_purge_stopped_by_a_late_file_is_completed_once_that_is_moved_out(site: Site, way: str) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    place = aside(site)
    purging = place.parent.with_name(place.parent.name + ".purging") / "content"
    stop_before_the_first_unlink(site, name)
    late, changed = purging / "late.txt", purging / "shard-00001.safetensors"
    late.write_text("somebody's notes")
    changed.write_text("somebody's other content")

    stopped = site("quarantine", "purge", name, "--yes", "--json")
    (found,) = findings(site)
    dry = site("quarantine", "purge", name, "--dry-run", "--json")
    assert site("doctor", "--repair", "--json").code == 3
    for path in (late, changed):
        path.rename(site.outside / path.name)
    completed = site.done(*way.split(), *([name] if "purge" in way else []), "--yes", "--json").json()

    assert (stopped.code, stopped.json()["steps"][0]["outcome"]) == (5, "failed"), stopped
    for path in (late, changed):
        assert str(path) in str(found["what"])
        assert str(path) in str(dry.json()["steps"][0]["evidence"])
    assert "move it out" in str(found["remedy"])
    assert found["repairable"] is False
    if "purge" in way:
        (step,) = completed["steps"]
        assert (step["outcome"], step["measured_freed_bytes"] is not None) == ("purged", True)
    assert site.states()[name] == "gone"
    assert findings(site) == []
    assert (site.outside / "late.txt").read_text() == "somebody's notes"
    assert not list((site.root / ".artifactctl" / "quarantine").glob("*.purging"))
    (event,) = site.done("audit", "ls", "--action", "purge.done", "--json").json()["events"]
    assert event["artifact"] == name


def stop_before_the_first_unlink(site: Site, name: str) -> None:
    """Kill a purge right after the point of no return."""
    dying = replace(site, cli=replace(site.cli, extra_environment={VARIABLE: "begin-purge:journalled=kill"}))
    assert dying("quarantine", "purge", name, "--yes").code == -signal.SIGKILL


def test_an_announced_purge_that_never_began_can_be_taken_back_and_every_refusal_says_how(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    dying = replace(site, cli=replace(site.cli, extra_environment={VARIABLE: "begin-purge:begun=kill"}))
    assert dying("quarantine", "purge", name, "--yes").code == -signal.SIGKILL

    refused = [site("hold", "add", name, "--reason", "keep it"), site("quarantine", "restore", name)]
    (found,) = findings(site)
    site.done("doctor", "--repair")
    site.done("hold", "add", name, "--reason", "keep it")

    assert [outcome.code for outcome in refused] == [4, 4]
    assert all("artifactctl doctor --repair" in outcome.stderr for outcome in refused)
    assert "only the catalog has yet to say so" in str(found["what"])
    assert site.states()[name] == "quarantined"
    assert site("quarantine", "purge", name, "--yes").code == 4
    site.done("quarantine", "restore", name)
