"""`metrics`: on stdout, as a file that is never half there, as JSON."""

import json
import os
import stat

import pytest


def test_the_figures_agree_with_ls_and_audit_verify(stocked):
    text = stocked.run("metrics").stdout
    listed = json.loads(stocked.run("ls", "--json").stdout)["artifacts"]
    head = json.loads(stocked.run("audit", "verify", "--json").stdout)

    states = sum(entry["allocated_bytes"] for entry in listed if entry["kind"] == "hidden_states")
    assert f'artifactctl_bytes{{kind="hidden_states",state="live",root="scratch"}} {states}\n' in text
    assert f"artifactctl_audit_events_total {head['events']}\n" in text
    assert f'artifactctl_audit_head_info{{hash="{head["head"]}"}} 1\n' in text


def test_a_hold_is_counted_and_its_placing_dated(stocked):
    stocked.run("hold", "add", "hs-old", "--reason", "paper")

    text = stocked.run("metrics").stdout

    assert "artifactctl_holds 1\n" in text
    noon = stocked.clock.now().timestamp()
    assert f'artifactctl_last_success_timestamp_seconds{{action="hold.add"}} {noon}\n' in text


def test_a_textfile_is_whole_readable_by_the_collector_and_alone(stocked, tmp_path):
    folder = tmp_path / "collector"
    folder.mkdir()
    stocked.run("metrics", "--textfile", str(folder))
    with (folder / "artifactctl.prom").open("a") as figures:
        figures.write("# of an earlier time\n")

    done = stocked.run("metrics", "--textfile", str(folder))

    assert (done.exit_code, done.stdout) == (0, "")
    assert os.listdir(folder) == ["artifactctl.prom"]
    written = (folder / "artifactctl.prom").read_text()
    assert _without_available(written) == _without_available(stocked.run("metrics").stdout)
    assert written.endswith("\n")
    assert stat.S_IMODE((folder / "artifactctl.prom").stat().st_mode) & 0o444 == 0o444


def test_figures_of_somebody_else_are_not_written_over(stocked, tmp_path):
    (tmp_path / "artifactctl.prom").write_text("theirs 1\n")

    done = stocked.run("metrics", "--textfile", str(tmp_path))

    assert done.exit_code == 4
    assert (tmp_path / "artifactctl.prom").read_text() == "theirs 1\n"


def test_a_textfile_that_cannot_be_written_leaves_nothing_behind(stocked, tmp_path):
    folder = tmp_path / "collector"
    (folder / "artifactctl.prom").mkdir(parents=True)

    done = stocked.run("metrics", "--textfile", str(folder))

    assert done.exit_code == 2
    assert "artifactctl.prom cannot be written" in done.stderr
    assert os.listdir(folder) == ["artifactctl.prom"]


@pytest.mark.parametrize("words", [["metrics"], ["metrics", "--json"]])
def test_looking_twice_says_the_same(stocked, words):
    first = stocked.run(*words).stdout

    assert _without_available(stocked.run(*words).stdout) == _without_available(first)


def _without_available(text):
    """Return the text without the lines that other programs on this machine change."""
    return [line for line in text.splitlines() if "_volume_" not in line and '"value"' not in line]
