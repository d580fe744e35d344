"""A run that is killed, stopped or out of budget goes on where it was, and asks nothing twice."""

import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extract.conftest import Stages, wait_until
from tests.extract.responding import fake_server as fake
from tests.extract.responding.asked import asked, prompts_at, records_of, refused, words_for
from tests.extract.responding.fake_server import FakeServer, answer_to, fake_server, texts_of
from tests.extract.texts import write_lines

COUNT = 60


@pytest.fixture
def slow() -> Iterator[FakeServer]:
    with fake_server(fake.slowly(0.15)) as running:
        yield running


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


def started_until(stages: Stages, server: FakeServer, prompts: Path, requests: int) -> "subprocess.Popen[bytes]":
    running = stages.cli.start(*words_for(server, prompts))
    wait_until(lambda: len(server.requests) >= requests or running.poll() is not None)
    assert running.poll() is None, running.communicate()
    return running


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_set(stages: Stages, slow: FakeServer) -> None:
    prompts = prompts_at(stages.root, COUNT)
    folder = stages.root / "answers"
    for kills in itertools.count(1):
        running = started_until(stages, slow, prompts, kills * 15)
        running.kill()
        running.communicate()
        if kills == 3:
            break
    before = {record["id"] for record in records_of(folder)}
    asked_before = len(slow.requests)

    said = asked(stages, slow, prompts)

    assert 10 < len(before) < COUNT
    assert texts_of(records_of(folder)) == {f"question {n}": answer_to(f"question {n}") for n in range(COUNT)}
    assert len(records_of(folder)) == COUNT
    assert said["answered_now"] == len(slow.requests) - asked_before == COUNT - len(before)
    stages.done("verify", "vol/answers")


def test_a_torn_last_line_costs_that_answer_and_no_other(stages: Stages, server: FakeServer) -> None:
    prompts = prompts_at(stages.root, 6)
    server.acts["question 5"] = [fake.refused(400)]
    asked(stages, server, prompts, code=5)
    partial = stages.root / "answers" / "responses.jsonl.partial"
    whole = partial.read_bytes()
    torn_id = json.loads(whole.splitlines()[-1])["messages"][0]["content"]

    for cut in (1, len(whole.splitlines()[-1]) - 1):
        os.truncate(partial, len(whole) - cut)
        server.acts["question 5"] = [fake.refused(400)]
        before = server.times()[torn_id]
        said = asked(stages, server, prompts, code=5)
        assert (said["answered_now"], said["records"], server.times()[torn_id]) == (1, 5, before + 1)
        whole = partial.read_bytes()
        torn_id = json.loads(whole.splitlines()[-1])["messages"][0]["content"]


def test_a_damaged_line_in_the_middle_is_not_taken_for_a_torn_one(stages: Stages, server: FakeServer) -> None:
    prompts = prompts_at(stages.root, 4)
    server.acts["question 3"] = [fake.refused(400)]
    asked(stages, server, prompts, code=5)
    partial = stages.root / "answers" / "responses.jsonl.partial"
    damaged = partial.read_bytes().replace(b'{"id"', b'"id"', 1)
    partial.write_bytes(damaged)

    ended = refused(stages, server, prompts, code=4)

    assert "line 1 of" in ended.stderr
    assert "is damaged" in ended.stderr
    assert partial.read_bytes() == damaged


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_lets_what_is_in_flight_end(stages: Stages, slow: FakeServer, number: signal.Signals) -> None:
    prompts = prompts_at(stages.root, COUNT)
    running = started_until(stages, slow, prompts, 12)

    running.send_signal(number)
    said, errors = running.communicate(timeout=30)

    assert running.returncode == 5, errors
    assert b"error: stopped by a signal" in errors
    assert b"hint: the same command goes on from here" in errors
    assert b"not asked" in said
    assert len(records_of(stages.root / "answers")) == len(slow.requests) < COUNT
    assert asked(stages, slow, prompts)["records"] == COUNT
    assert slow.times() == {f"question {n}": 1 for n in range(COUNT)}


def test_a_signal_before_anything_was_answered_says_so(stages: Stages, server: FakeServer) -> None:
    server.otherwise = fake.refused(503, "loading", Retry_After="60")
    running = started_until(stages, server, prompts_at(stages.root, 2), 2)

    running.send_signal(signal.SIGTERM)

    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors


def test_other_settings_are_refused_with_the_difference(stages: Stages, server: FakeServer) -> None:
    prompts = prompts_at(stages.root, 2)
    server.acts["question 1"] = [fake.refused(400)]
    asked(stages, server, prompts, "--temperature", "0.5", code=5)

    ended = refused(stages, server, prompts, "--model", "other", "--max-tokens", "32", code=4)

    for difference in (
        "max_tokens is 64 there and 32 here",
        'model is "fake" there and "other" here',
        "temperature is 0.5 there and not set here",
    ):
        assert difference in ended.stderr
    assert len(server.requests) == 2


def test_a_complete_set_is_left_as_it_is(stages: Stages, server: FakeServer) -> None:
    prompts = prompts_at(stages.root, 3)
    asked(stages, server, prompts)
    content = (stages.root / "answers" / "responses.jsonl").read_bytes()

    said = asked(stages, server, prompts)

    assert (said["complete"], said["records"], said["answered_now"]) == (True, 3, 0)
    assert len(server.requests) == 3
    assert (stages.root / "answers" / "responses.jsonl").read_bytes() == content
    refused(stages, server, prompts, "--max-tokens", "32", code=4)


def test_more_prompts_go_into_a_set_that_is_not_complete(stages: Stages, server: FakeServer) -> None:
    server.acts["question 1"] = [fake.refused(400)]
    asked(stages, server, prompts_at(stages.root, 2), code=5)

    said = asked(stages, server, prompts_at(stages.root, 5, name="more.jsonl"))

    assert (said["records"], said["answered_now"]) == (5, 4)


def test_answers_to_prompts_that_are_not_named_any_more_stay_and_are_told(stages: Stages, server: FakeServer) -> None:
    server.acts["question 4"] = [fake.refused(400)]
    asked(stages, server, prompts_at(stages.root, 5), code=5)

    ended = stages.done(*words_for(server, prompts_at(stages.root, 2, name="fewer.jsonl")))

    assert "vol/answers: 2 of 2 prompts are answered, 0 of them now; the set is complete" in ended.stdout
    assert "besides    2 answers to prompts that were not named now" in ended.stdout
    stages.done("verify", "vol/answers")


def test_two_runs_for_one_place_do_not_mix(stages: Stages, slow: FakeServer) -> None:
    prompts = prompts_at(stages.root, COUNT)
    running = started_until(stages, slow, prompts, 5)

    ended = refused(stages, slow, prompts, code=6)

    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=30)
    assert "another program is writing" in ended.stderr


def test_a_folder_of_something_else_is_not_written_into(stages: Stages, server: FakeServer) -> None:
    (stages.root / "answers").mkdir()
    (stages.root / "answers" / "thesis.txt").write_text("mine")

    ended = refused(stages, server, prompts_at(stages.root, 2), code=2)

    assert "holds no responses" in ended.stderr
    assert [path.name for path in (stages.root / "answers").iterdir()] == ["thesis.txt"]
    assert "vol/answers" not in stages.names()


def test_a_budget_is_not_exceeded_and_a_larger_one_goes_on(stages: Stages, server: FakeServer) -> None:
    prompts = prompts_at(stages.root, COUNT)

    first = asked(stages, server, prompts, "--budget-tokens", "500", code=5)
    again = refused(stages, server, prompts, "--budget-tokens", "500", code=4)
    last = asked(stages, server, prompts, "--budget-tokens", "100k")

    assert first["stopped"] == "budget"
    assert 5 < first["records"] < COUNT
    assert first["spent_tokens"] <= 500
    assert first["not_asked"] == COUNT - first["records"]
    assert "the next request could go beyond --budget-tokens" in again.stderr
    assert last["records"] == COUNT
    assert len(server.requests) == COUNT


def test_what_lost_attempts_may_have_cost_counts_against_the_budget(stages: Stages, server: FakeServer) -> None:
    server.otherwise = fake.cut

    said = asked(stages, server, prompts_at(stages.root, 4), "--budget-tokens", "600", "--concurrency", "1", code=4)

    assert said["stopped"] == "budget"
    assert 0 < said["spent_tokens"] == said["usage"]["lost_tokens"] <= 600


def test_answers_that_the_server_did_not_count_are_counted_at_their_most(stages: Stages, server: FakeServer) -> None:
    server.otherwise = fake.answered(finish_reason="stop", usage=False, content="yes")

    said = asked(stages, server, prompts_at(stages.root, 20), "--budget-tokens", "1k", code=5)

    assert said["stopped"] == "budget"
    assert said["usage"]["answers_without_count"] == said["records"] > 0
    assert 0 < said["usage"]["estimated_tokens"] == said["spent_tokens"] <= 1000


def test_nothing_is_asked_when_no_prompt_is_there(stages: Stages, server: FakeServer) -> None:
    ended = refused(stages, server, write_lines(stages.root / "prompts.jsonl", []), code=2)

    assert "there are no prompts" in ended.stderr
    assert server.requests == []
