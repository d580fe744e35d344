"""What servers do, one behaviour a test: the command line against real sockets."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extract.conftest import Stages
from tests.extract.responding import fake_server as fake
from tests.extract.responding.asked import asked, prompts_at, record_for, records_of, refused, words_for
from tests.extract.responding.fake_server import FakeServer, answer_to, fake_server, texts_of
from tests.extract.texts import openai, sharegpt, write_lines

ONE = "question 1"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def folder(stages: Stages) -> Path:
    return stages.root / "answers"


def test_prompts_become_a_response_set_that_verifies(stages: Stages, server: FakeServer, folder: Path) -> None:
    prompts = prompts_at(stages.root, 30)
    stages.done("scan", "vol")

    said = asked(stages, server, prompts)

    assert said["schema"] == "artifactctl.extract_respond/1"
    assert (said["prompts"], said["records"], said["unanswered"], said["complete"]) == (30, 30, 0, True)
    assert texts_of(records_of(folder)) == {f"question {n}": answer_to(f"question {n}") for n in range(30)}
    assert {record["id"] for record in records_of(folder)} == {f"p{n}" for n in range(30)}
    shown = stages.done("show", "vol/answers", "--json").json()
    assert (shown["kind"], shown["records"], shown["state"]) == ("response_set", 30, "live")
    assert shown["tokens"] == said["usage"]["prompt_tokens"] + said["usage"]["completion_tokens"]
    assert "vol/prompts.jsonl" in stages.done("lineage", "vol/answers", "--up").stdout
    stages.done("verify", "vol/answers")
    assert server.most_at_once <= 4


NOT_WHOLE = {
    "429": fake.refused(429, "slow down", Retry_After="1"),
    "500": fake.refused(500),
    "502": fake.refused(502),
    "503": fake.refused(503),
    "504": fake.refused(504),
    "cut": fake.cut,
    "cut behind the reason": fake.cut_behind_the_reason,
    "no reason": fake.ended_without_reason,
    "closed without an end": fake.ended_by_closing,
    "malformed event": fake.malformed,
    "malformed body": fake.malformed_whole,
    "a page": fake.wrong_type,
    "no choices": fake.no_choices,
    "answered twice": fake.answered_twice,
    "error in the stream": fake.error_in_the_stream,
    "aborted": fake.aborted,
    "reset": fake.reset,
}
OTHERWISE_WHOLE = {
    "without [DONE]": fake.without_done,
    "not streamed": fake.not_streamed,
    "a second choice": fake.two_choices,
}


def test_what_is_not_a_whole_answer_is_asked_again(stages: Stages, server: FakeServer, folder: Path) -> None:
    server.acts = {text: [act] for text, act in NOT_WHOLE.items()}
    prompts = write_lines(stages.root / "prompts.jsonl", ({"prompt": text} for text in NOT_WHOLE))

    said = asked(stages, server, prompts)

    assert server.times() == dict.fromkeys(NOT_WHOLE, 2)
    assert texts_of(records_of(folder)) == {text: answer_to(text) for text in NOT_WHOLE}
    assert said["records"] == len(NOT_WHOLE)


def test_answers_that_end_in_another_way_are_whole(stages: Stages, server: FakeServer, folder: Path) -> None:
    server.acts = {text: [act] for text, act in OTHERWISE_WHOLE.items()}
    prompts = write_lines(stages.root / "prompts.jsonl", ({"prompt": text} for text in OTHERWISE_WHOLE))

    asked(stages, server, prompts)

    assert server.times() == dict.fromkeys(OTHERWISE_WHOLE, 1)
    assert texts_of(records_of(folder)) == {text: answer_to(text) for text in OTHERWISE_WHOLE}


def test_a_server_that_falls_silent_is_asked_again(stages: Stages, server: FakeServer, folder: Path) -> None:
    server.acts[ONE] = [fake.silent(8)]

    said = asked(stages, server, prompts_at(stages.root, 2), "--timeout", "1s")

    assert server.times()[ONE] == 2
    assert said["usage"]["lost_attempts"] == 1
    assert said["usage"]["lost_tokens"] > 0


@pytest.mark.parametrize("act", [fake.refused(429, Retry_After="2"), fake.busy_until(3)], ids=["seconds", "a date"])
def test_nobody_asks_before_the_time_that_the_server_names(stages: Stages, server: FakeServer, act: fake.Act) -> None:
    server.acts["question 0"] = [act]

    asked(stages, server, prompts_at(stages.root, 2), "--concurrency", "1")

    first, again, other = server.requests
    assert (first.text, again.text, other.text) == ("question 0", "question 0", ONE)
    assert again.at - first.at >= 2


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_prompt_that_is_refused_is_a_hole_and_not_asked_again(
    stages: Stages, server: FakeServer, folder: Path, status: int
) -> None:
    server.acts[ONE] = [fake.refused(status, "the prompt is too long")] * 2
    prompts = prompts_at(stages.root, 3)

    said = asked(stages, server, prompts, code=5)

    assert server.times()[ONE] == 1
    (hole,) = said["holes"]
    assert (hole["line"], hole["id"], hole["status"], hole["attempts"]) == (2, "p1", status, 1)
    assert hole["reason"] == f"the server answered {status}: the prompt is too long"
    assert json.loads((folder / "unanswered.ndjson").read_bytes()) == hole
    shown = stages.done("show", "vol/answers", "--json").json()
    assert shown["state"] == "building"
    assert shown["labels"]["unanswered"] == "1"


def test_a_hole_is_filled_by_the_same_command(stages: Stages, server: FakeServer, folder: Path) -> None:
    server.acts[ONE] = [fake.refused(400)]
    prompts = prompts_at(stages.root, 3)
    asked(stages, server, prompts, code=5)

    said = asked(stages, server, prompts)

    assert server.times() == {"question 0": 1, ONE: 2, "question 2": 1}
    assert (said["records"], said["answered_now"], said["complete"], said["holes"]) == (3, 1, True, [])
    assert stages.done("show", "vol/answers", "--json").json()["labels"]["unanswered"] == "0"
    stages.done("verify", "vol/answers")


def test_holes_that_are_accepted_are_listed_in_the_set(stages: Stages, server: FakeServer, folder: Path) -> None:
    server.acts[ONE] = [fake.refused(400)] * 3
    prompts = prompts_at(stages.root, 3)

    said = asked(stages, server, prompts, "--accept-holes", code=5)

    assert (said["complete"], said["records"], said["unanswered"]) == (True, 2, 1)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["respond"]["unanswered"] == 1
    assert "unanswered.ndjson" in [member["path"] for member in manifest["members"]]
    stages.done("verify", "vol/answers")
    told = refused(stages, server, prompts, code=4).stderr
    assert "vol/answers is complete, and has no answer to 1 of these prompts" in told
    assert server.times()[ONE] == 1


def test_a_prompt_is_given_up_after_its_attempts(stages: Stages, server: FakeServer) -> None:
    server.acts[ONE] = [fake.refused(500, "boom")] * 9

    said = asked(stages, server, prompts_at(stages.root, 2), "--attempts", "2", code=5)

    assert server.times()[ONE] == 2
    assert said["holes"][0]["attempts"] == 2


def test_a_server_that_never_answers_is_not_asked_for_the_rest(stages: Stages, server: FakeServer) -> None:
    server.otherwise = fake.refused(404, "there is no model fake")

    ended = refused(stages, server, prompts_at(stages.root, 100), "--concurrency", "1", code=4)

    assert len(server.requests) == 20
    assert "20 prompts in a row got no answer" in ended.stderr
    assert "there is no model fake" in ended.stderr
    assert "hint: check --server and --model" in ended.stderr


def test_refusals_and_truncations_are_marked(stages: Stages, server: FakeServer, folder: Path) -> None:
    server.acts = {
        "question 0": [fake.answered(finish_reason="length", content="as far as it goes")],
        "question 1": [fake.answered(finish_reason="content_filter", content="")],
        "question 2": [fake.answered(finish_reason="stop", refusal="I will not")],
    }

    said = asked(stages, server, prompts_at(stages.root, 4))

    assert (said["truncated"], said["refused"], said["empty"]) == (1, 2, 1)
    assert record_for(folder, "question 0")["truncated"] is True
    assert record_for(folder, "question 1")["refused"] is True
    assert record_for(folder, "question 2")["messages"][-1] == {
        "role": "assistant",
        "content": "",
        "refusal": "I will not",
    }
    assert not {"truncated", "refused", "empty"} & set(record_for(folder, "question 3"))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_what_the_model_thought_is_kept_to_the_letter(
    stages: Stages, server: FakeServer, folder: Path, field: str
) -> None:
    thought = "\nFirst,\u2028 the lamp. \n\n"
    server.acts[ONE] = [fake.answered(finish_reason="stop", content="Yes.", **{field: thought})]

    asked(stages, server, prompts_at(stages.root, 2))

    message = record_for(folder, ONE)["messages"][-1]
    assert message == {"role": "assistant", "content": "Yes.", "reasoning_content": thought}


def test_calls_of_tools_are_put_together(stages: Stages, server: FakeServer, folder: Path) -> None:
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    prompts = write_lines(stages.root / "prompts.jsonl", [{"prompt": ONE, "tools": tools}])
    server.acts[ONE] = [fake.calling_a_tool]

    asked(stages, server, prompts)

    (record,) = records_of(folder)
    assert server.requests[0].body["tools"] == record["tools"] == tools
    (call,) = record["messages"][-1]["tool_calls"]
    assert call == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Köln"}'},
    }


def test_every_form_of_prompt_asks_the_same(stages: Stages, server: FakeServer, folder: Path) -> None:
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "one?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "two?"},
    ]
    answered = [*talk, {"role": "assistant", "content": "an old answer"}]
    prompts = write_lines(
        stages.root / "prompts.jsonl",
        [openai(talk), openai(answered), sharegpt(talk), sharegpt(answered), {"prompt": talk}],
    )

    said = asked(stages, server, prompts)

    assert (said["prompts"], said["doubled"], said["records"]) == (1, 4, 1)
    (request,) = server.requests
    assert request.body["messages"] == talk
    assert records_of(folder)[0]["messages"] == [*talk, {"role": "assistant", "content": answer_to("two?")}]


def test_prompts_that_cannot_be_read_are_holes_and_the_others_are_asked(stages: Stages, server: FakeServer) -> None:
    file = stages.root / "prompts.jsonl"
    file.write_bytes(b'{"prompt": "question 1"}\nno json\n{"messages": []}\n{"prompt": "\\ud800"}\n{"prompt": 7}\n')

    said = asked(stages, server, file, code=5)

    assert (said["records"], said["unanswered"]) == (1, 4)
    assert [hole["line"] for hole in said["holes"]] == [2, 3, 4, 5]
    assert said["holes"][0]["reason"] == "it is no JSON"


def test_the_request_says_what_was_asked_for(stages: Stages, server: FakeServer) -> None:
    extra = stages.root.parent / "extra.json"
    extra.write_text('{"chat_template_kwargs": {"thinking": true}}')

    asked(
        stages,
        server,
        prompts_at(stages.root, 1),
        *("--temperature", "0.6", "--top-p", "0.95", "--seed", "7", "--extra-body", extra),
    )

    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "question 0"}],
        "max_tokens": 64,
        "temperature": 0.6,
        "top_p": 0.95,
        "seed": 7,
        "chat_template_kwargs": {"thinking": True},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert "Authorization" not in request.headers


def test_a_person_reads_what_became_of_it(stages: Stages, server: FakeServer) -> None:
    server.acts[ONE] = [fake.refused(400, "too long")]

    ended = stages.done(
        *words_for(server, prompts_at(stages.root, 3), "--prompt-price", "0.6", "--answer-price", "2.50"), code=5
    )

    assert ended.stdout.splitlines()[0] == (
        "vol/answers: 2 of 3 prompts are answered, 2 of them now; the set is not complete"
    )
    assert "  unanswered 1" in ended.stdout
    assert "prompts.jsonl:2 (p1): the server answered 400: too long" in ended.stdout
    assert "US dollars" in ended.stdout
    assert "hint: the same command asks for what is missing" in ended.stderr
