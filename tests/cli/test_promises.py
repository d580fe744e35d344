"""`hold`, `lease`, `reservation`, `link`, `supersede`, `record`: each change is audited and says what it did."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from artifactctl.cli.clock import SystemClock
from artifactctl.inventory.process_identity import identify_process


def payload(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def events(shop, action):
    return payload(shop.run("audit", "ls", "--action", action, "--json"))["events"]


def mirrored(shop):
    return json.loads(shop.host.read_mirror(bytes(shop.volume), "holds"))["holds"]


def test_a_hold_is_audited_and_stands_in_the_root_before_the_command_returns(stocked):
    placed = payload(stocked.run("hold", "add", "hs-old", "--reason", "for the paper", "--until", "30d", "--json"))

    assert placed["name"] == "scratch/hs-old"
    assert placed["until"] == "2026-12-30T12:00:00Z"
    assert [(hold["reason"], hold["paths"]) for hold in mirrored(stocked)] == [("for the paper", [{"path": "hs-old"}])]
    assert [event["reason"] for event in events(stocked, "hold.add")] == ["for the paper"]
    assert "for the paper" in stocked.run("hold", "ls").stdout


def test_a_hold_whose_review_is_due_still_holds_and_everybody_says_so(stocked):
    stocked.run("hold", "add", "hs-old", "--reason", "for the paper", "--until", "1d")
    before = stocked.run("doctor")
    stocked.clock.advance(timedelta(days=2))

    assert "2026-12-01 12:00 UTC (review due; still held)" in stocked.run("hold", "ls").stdout
    assert [hold["review_due"] for hold in payload(stocked.run("hold", "ls", "--json"))["holds"]] == [True]
    assert "held" in stocked.run("ls").stdout
    why = payload(stocked.run("why", "hs-old", "--json"))
    assert not why["may_go"]
    assert "no_hold" in {item["guard"] for item in why["evidence"] if item["verdict"] == "blocked"}
    after = stocked.run("doctor")
    assert "review" not in before.stdout
    assert (after.exit_code, "a review of the hold by" in after.stdout) == (3, True)
    assert "hold release scratch/hs-old" in after.stdout


def test_releasing_a_hold_takes_it_out_of_the_root_as_well(stocked):
    stocked.run("hold", "add", "hs-old", "--reason", "for the paper")

    released = stocked.run("hold", "release", "scratch/hs-old", "--reason", "it is published")

    assert released.stdout == "scratch/hs-old is no longer kept: it is published\n"
    assert mirrored(stocked) == []
    assert len(events(stocked, "hold.release")) == 1


def test_releasing_what_is_not_held_is_an_error(stocked):
    refused = stocked.run("hold", "release", "hs-old", "--reason", "why not")

    assert refused.exit_code == 2
    assert "`scratch/hs-old` is not on hold" in refused.stderr


def test_a_hold_without_a_reason_and_a_terminal_changes_nothing(stocked):
    refused = stocked.run("hold", "add", "hs-old")

    assert refused.exit_code == 2
    assert "--reason" in refused.stderr
    assert payload(stocked.run("hold", "ls", "--json"))["holds"] == []


def test_a_root_that_cannot_be_written_takes_no_hold(stocked):
    (stocked.volume / ".artifactctl").rename(stocked.volume / "elsewhere")
    try:
        done = stocked.run("hold", "add", "hs-old", "--reason", "for the paper")
    finally:
        (stocked.volume / "elsewhere").rename(stocked.volume / ".artifactctl")

    assert done.exit_code == 4
    assert "scratch/hs-old lies on `scratch`" in done.stderr
    assert payload(stocked.run("hold", "ls", "--json"))["holds"] == []


@pytest.fixture
def leased(stocked, environment):
    """Return a function that starts `lease run` on the old hidden states as a process of its own."""
    started = []

    def start(*command, names=("scratch/hs-old",)):
        words = ["-m", "artifactctl", "--catalog", str(stocked.location), "lease", "run", *names, "--", *command]
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=stocked.volume,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


SAY_AND_WAIT = ("sh", "-c", "echo started; exec sleep 30")


def current_leases(shop):
    catalog = shop.open()
    try:
        with catalog.reading() as reading:
            return reading.leases(SystemClock().now())
    finally:
        catalog.close()


def test_lease_run_holds_while_the_command_runs_and_passes_its_code_on(stocked, leased):
    process = leased("sh", "-c", "echo started; sleep 1; exit 7")
    assert process.stdout.readline() == "started\n"

    (held,) = current_leases(stocked)
    out, err = process.communicate(timeout=30)

    assert held.artifact_name == "scratch/hs-old"
    assert held.command == "sh -c 'echo started; sleep 1; exit 7'"
    assert held.pid != process.pid
    assert (process.returncode, out, err) == (7, "", "")
    assert current_leases(stocked) == ()


def test_lease_run_passes_a_signal_on_and_reports_the_death(stocked, leased):
    process = leased(*SAY_AND_WAIT)
    assert process.stdout.readline() == "started\n"

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert process.returncode == 128 + signal.SIGTERM
    assert current_leases(stocked) == ()


def test_lease_run_lets_a_command_that_handles_its_signal_decide(leased):
    process = leased("sh", "-c", "trap 'echo saving; exit 3' TERM; echo started; while :; do sleep 0.05; done")
    assert process.stdout.readline() == "started\n"

    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)

    assert (process.returncode, out) == (3, "saving\n")


def test_lease_run_with_a_command_that_does_not_exist_leaves_no_lease(stocked, leased):
    process = leased("no-such-command")
    _, err = process.communicate(timeout=30)

    assert process.returncode == 2
    assert "error: `no-such-command` cannot be started: No such file or directory" in err
    assert current_leases(stocked) == ()


def test_lease_run_on_an_unknown_name_does_not_run_the_command(leased):
    process = leased("sh", "-c", "echo started", names=("scratch/hs-old", "scratch/nothing"))
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out) == (2, "")
    assert "scratch/nothing" in err


def test_lease_run_without_a_command_says_how(stocked):
    refused = stocked.run("lease", "run", "scratch/hs-old")

    assert refused.exit_code == 2
    assert "artifactctl lease run NAME -- COMMAND" in refused.stderr


def test_a_lease_outlives_a_killed_lease_run_and_is_broken_only_when_the_command_is_gone(stocked, leased):
    process = leased(*SAY_AND_WAIT)
    assert process.stdout.readline() == "started\n"
    process.kill()
    process.wait(timeout=30)
    (held,) = current_leases(stocked)
    stocked.clock.advance(SystemClock().now() - stocked.clock.now())

    refused = stocked.run("lease", "break", held.lease_id, "--reason", "the job died")
    os.kill(held.pid, signal.SIGKILL)
    wait_until_gone(held.pid, stocked)
    broken = stocked.run("lease", "break", held.lease_id, "--reason", "the job died")

    assert refused.exit_code == 4
    assert f"process {held.pid}" in refused.stderr
    assert "is running" in refused.stderr
    assert broken.exit_code == 0
    assert current_leases(stocked) == ()
    assert [event["reason"] for event in events(stocked, "lease.break")] == ["the job died"]


def wait_until_gone(pid, shop):
    deadline = time.monotonic() + 60
    while identify_process(pid, shop.host.identify()) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_links_take_the_usual_role_and_refuse_one_that_is_not_known(stocked):
    assert stocked.run("link", "scratch/map", "--input", "scratch/corpus").exit_code == 0
    misspelled = stocked.run("link", "scratch/map", "--input", "scratch/corpus:extracted_form")
    unusual = stocked.run("link", "scratch/corpus", "--input", "scratch/map")

    assert payload(stocked.run("show", "map", "--json"))["parents"] == [
        {"name": "scratch/corpus", "role": "extracted_from"}
    ]
    assert misspelled.exit_code == unusual.exit_code == 2
    assert "extracted_from" in misspelled.stderr
    assert "no usual role" in unusual.stderr
    assert "--input scratch/map:extracted_from;" in unusual.stderr
    assert len(events(stocked, "lineage.link")) == 1


def test_a_link_that_would_make_a_circle_is_refused(stocked):
    refused = stocked.run("link", "scratch/corpus", "--input", "scratch/hs-old:extracted_from")

    assert refused.exit_code == 4
    assert events(stocked, "lineage.link") == []


def test_measurements_are_shown_and_audited(stocked):
    words = ("record", "scratch/checkpoint", "--metric", "accept_len=2.1", "--source", "bench 7", "--json")

    assert payload(stocked.run(*words))["metrics"] == {"accept_len": 2.1}
    assert "accept_len  2.1" in stocked.run("show", "checkpoint").stdout
    assert len(events(stocked, "artifact.measure")) == 1


def test_a_successor_has_to_be_of_the_same_kind_and_another(stocked):
    assert stocked.run("supersede", "scratch/map", "--by", "scratch/hs-new").exit_code == 2
    assert stocked.run("supersede", "scratch/map", "--by", "scratch/map").exit_code in (2, 4)
    assert events(stocked, "artifact.supersede") == []


@pytest.mark.parametrize("metric", ["accept_len", "accept_len=", "=2", "accept_len=nan", "accept_len=two"])
def test_what_is_no_measurement_is_refused(stocked, metric):
    assert stocked.run("record", "scratch/checkpoint", "--metric", metric).exit_code == 2
