"""`audit`: questions, forms, and the proof that nobody changed the answer."""

import csv
import io
import json
import sqlite3
from datetime import timedelta

import pytest


@pytest.fixture
def told(stocked):
    """A log with three acts on three days."""
    stocked.run("hold", "add", "hs-old", "--reason", "for the paper")
    stocked.clock.advance(timedelta(days=1))
    stocked.run("record", "scratch/checkpoint", "--metric", "accept_len=2.1", "--source", "bench 7")
    stocked.clock.advance(timedelta(days=1))
    stocked.run("hold", "release", "hs-old", "--reason", "published")
    return stocked


def actions(result):
    assert result.exit_code == 0, result.output
    return [event["action"] for event in json.loads(result.stdout)["events"]]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ["hold.add", "artifact.measure", "hold.release"]),
        (["--artifact", "scratch/hs-old"], ["hold.add", "hold.release"]),
        (["--artifact", "hs-old"], ["hold.add", "hold.release"]),
        (["--action", "hold.add"], ["hold.add"]),
        (["--action", "hold"], ["hold.add", "hold.release"]),
        (["--since", "36h"], ["artifact.measure", "hold.release"]),
        (["--until", "2026-12-01T13:00Z"], ["hold.add", "artifact.measure"]),
        (["--actor", "nobody@nowhere"], []),
    ],
    ids=["all", "by name", "by path", "by action", "by kind of act", "since", "until", "by actor"],
)
def test_questions_narrow_the_answer(told, words, found):
    assert actions(told.run("audit", "ls", "--json", *words)) == found


def test_an_artifact_that_never_was_is_an_error(told):
    assert told.run("audit", "ls", "--artifact", "scratch/never").exit_code == 2


def test_every_event_has_every_field(told):
    (event, *_) = json.loads(told.run("audit", "ls", "--json").stdout)["events"]

    assert list(event) == [
        *("id", "at", "actor", "host", "action", "artifact", "path", "bytes", "reason", "operation", "policy_digest"),
        *("hash", "previous_hash"),
    ]
    assert event["actor"].endswith(f"@{event['host']}")
    assert event["at"] == "2026-11-30T12:00:00Z"


def test_the_same_events_as_lines_and_as_csv(told):
    lines = [json.loads(line) for line in told.run("audit", "ls", "--format", "jsonl").stdout.splitlines()]
    rows = list(csv.DictReader(io.StringIO(told.run("audit", "ls", "--format", "csv").stdout)))

    assert [line["action"] for line in lines] == [row["action"] for row in rows]
    assert rows[0]["reason"] == "for the paper"


def test_show_tells_the_evidence(told):
    shown = told.run("audit", "show", "2").stdout

    assert 'metrics: {"accept_len": 2.1}' in shown
    assert told.run("audit", "show", "99").exit_code == 2


def test_a_whole_log_verifies_and_an_altered_one_is_exit_3(told):
    whole = told.run("audit", "verify", "--json")
    with sqlite3.connect(told.location) as connection:
        for (trigger,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f'drop trigger "{trigger}"')
        connection.execute("update audit_event set body = replace(body, 'for the paper', 'for the pager')")
    connection.close()
    altered = told.run("audit", "verify", "--json")

    assert (whole.exit_code, json.loads(whole.stdout)["ok"], json.loads(whole.stdout)["events"]) == (0, True, 3)
    assert (altered.exit_code, json.loads(altered.stdout)["ok"]) == (3, False)
    assert "event 1 was altered" in json.loads(altered.stdout)["problem"]


def test_export_writes_lines_that_hold_their_hashes(told, tmp_path):
    told.run("audit", "export", "--out", str(tmp_path / "log.jsonl"))

    written = (tmp_path / "log.jsonl").read_text()
    assert written == told.run("audit", "export").stdout
    assert [json.loads(line)["action"] for line in written.splitlines()] == [
        "hold.add",
        "artifact.measure",
        "hold.release",
    ]


@pytest.mark.parametrize(("word", "meant"), [("hold.ad", "hold.add"), ("quarantin.done", "quarantine.done")])
def test_an_action_that_nobody_knows_is_answered_with_what_was_perhaps_meant(stocked, word, meant):
    refused = stocked.run("audit", "ls", "--action", word)

    assert refused.exit_code == 2
    assert f"did you mean `{meant}`?" in refused.stderr


def test_an_action_that_never_happened_is_an_empty_answer(stocked):
    assert actions(stocked.run("audit", "ls", "--action", "purge.done", "--json")) == []
