"""The key reaches the server in one header, and nothing else: no file, no stream, no catalog."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from artifactctl.domain.errors import UsageError
from extract.credentials import MASK, Key, key_of_environment, key_of_file
from extract.responding.endpoint import endpoint_of
from tests.extract.conftest import Stages
from tests.extract.responding import fake_server as fake
from tests.extract.responding.asked import every_byte_below, prompts_at, refused, words_for
from tests.extract.responding.fake_server import FakeServer, fake_server

SECRET = "sk-or-v1-0123456789abcdef-NOBODY-SEES-THIS"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        running.acts = {
            "question 1": [fake.quoting_the_key(400)],
            "question 2": [fake.answered(finish_reason="stop", content=f"your key is {SECRET}")],
        }
        yield running


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "secrets" / "key"
    file.parent.mkdir()
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("way", ["--key-file", "--key-env"])
def test_the_key_is_sent_and_never_written(
    stages: Stages, server: FakeServer, key_file: Path, tmp_path: Path, way: str
) -> None:
    given = {"--key-file": str(key_file), "--key-env": "THE_KEY"}[way]
    words = words_for(server, prompts_at(stages.root, 4), way, given, "--debug", "--accept-holes")

    ended = stages.cli(*words, environment={"THE_KEY": SECRET})

    assert ended.code == 5, ended.stderr
    assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {SECRET}"}
    assert MASK in ended.stdout
    key_file.unlink()
    said = "".join(stages.done(*asking).stdout for asking in (["audit", "export"], ["report"], ["show", "vol/answers"]))
    everything = every_byte_below([tmp_path]) + f"{ended.stdout}{ended.stderr}{said}".encode()
    assert b"question 1" in everything
    assert SECRET.encode() not in everything


def test_a_key_that_the_server_refuses_stops_the_run_and_says_what_to_do(stages: Stages, server: FakeServer) -> None:
    server.acts = {}
    server.otherwise = fake.quoting_the_key(401)

    ended = refused(stages, server, prompts_at(stages.root, 50), "--concurrency", "1", code=4)

    assert len(server.requests) == 1
    assert "error: the server answered 401" in ended.stderr
    assert "hint: give a key that is valid there, with --key-file or --key-env" in ended.stderr


def test_no_option_takes_a_key(stages: Stages, server: FakeServer) -> None:
    for option in ("--key", "--api-key"):
        ended = refused(stages, server, prompts_at(stages.root, 1), f"{option}={SECRET}", code=2)
        assert server.requests == []
        assert "--key-file" in ended.stderr or "such option" in ended.stderr


def test_a_key_that_was_typed_into_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as by_file:
        key_of_file(tmp_path / SECRET)
    with pytest.raises(UsageError) as by_name:
        key_of_environment(SECRET, {})

    assert SECRET not in f"{by_file.value.message}{by_file.value.remedy}{by_name.value.message}{by_name.value.remedy}"


@pytest.mark.parametrize("content", ["", " \n", "two words", 'a"b', "kéy", "a\nb"])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content)

    with pytest.raises(UsageError) as refused_key:
        key_of_file(file)

    assert not content.strip() or content.strip() not in refused_key.value.message


def test_a_key_prints_as_nothing() -> None:
    key = Key(SECRET)

    assert SECRET not in f"{key!r} {key} {[key]}"
    assert key.hide(f"Bearer {SECRET}!") == f"Bearer {MASK}!"
    assert Key("EMPTY").hide("an EMPTY box") == "an EMPTY box"


def test_a_key_file_that_others_can_read_is_warned_of(stages: Stages, server: FakeServer, key_file: Path) -> None:
    server.acts = {}
    os.chmod(key_file, 0o644)

    ended = stages.done(*words_for(server, prompts_at(stages.root, 1), "--key-file", key_file))

    assert "warning: others on this machine can read the file named with --key-file" in ended.stderr


@pytest.mark.parametrize(
    ("address", "url", "is_clear"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions", False),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1/chat/completions", False),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions", False),
        ("http://gpu1:30000/v1/", "http://gpu1:30000/v1/chat/completions", True),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions", False),
        ("https://x.example/v1/chat/completions", "https://x.example/v1/chat/completions", False),
    ],
)
def test_an_address_is_that_of_the_chat_completions(address: str, url: str, is_clear: bool) -> None:
    found = endpoint_of(address)

    assert (found.url, found.is_clear) == (url, is_clear)


@pytest.mark.parametrize(
    "address",
    [f"https://user:{SECRET}@x.example", f"https://x.example/v1?key={SECRET}", f"https://x.example/#{SECRET}"],
    ids=["user", "query", "fragment"],
)
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError) as refused_address:
        endpoint_of(address)

    assert SECRET not in f"{refused_address.value.message}{refused_address.value.remedy}"


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://x", "http://", "http://x:port", "http://a b", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        endpoint_of(address)
