"""Copies in a real S3-compatible server over the wire, by the command line; and a server that lies."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.archiving.ground import picture, plant
from tests.archiving.s3_server import MISSING, environment_for, lying_server, s3_server
from tests.bench.command_line import CommandLine, Outcome
from tests.bench.sandbox import system_tests_are_demanded

pytestmark = pytest.mark.skipif(
    bool(MISSING) and not system_tests_are_demanded(), reason=f"not installed: {', '.join(MISSING)}"
)

QUICK = '[policy]\nquiet_time = "0s"\n'


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture(scope="module")
def s3(server: str) -> Iterator[Any]:
    """A client of the server that is not ours."""
    import boto3

    client = boto3.client(
        "s3", endpoint_url=server, aws_access_key_id="k", aws_secret_access_key="s", region_name="us-east-1"
    )
    yield client
    client.close()


@pytest.fixture
def bucket(s3: Any, request: pytest.FixtureRequest) -> str:
    name = "b-" + hashlib.sha256(request.node.name.encode()).hexdigest()[:20]
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def here(cli: CommandLine) -> CommandLine:
    """A root `data` with the artifact `hidden`, large enough for an upload in parts."""
    (cli.cwd / "artifactctl.toml").write_text(QUICK)
    data = cli.cwd / "data"
    data.mkdir()
    plant(bytes(data / "hidden"))
    (data / "hidden/large.bin").write_bytes(os.urandom(20_000_000))
    done(cli("init", "--yes"))
    done(cli("root", "add", data))
    done(cli("register", data / "hidden", "--kind", "response_set", "--name", "hidden"))
    return cli


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, f"{outcome.code}\n{outcome.stdout}\n{outcome.stderr}"
    return outcome


def run(here: CommandLine, server: str, *words: object) -> Outcome:
    return here(*words, environment=environment_for(server))  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", ["raw", "zstd"])
def test_there_and_back_over_the_wire(here: CommandLine, s3: Any, server: str, bucket: str, codec: str) -> None:
    before = picture(bytes(here.cwd / "data/hidden"))
    answer = done(
        run(here, server, "archive", "hidden", "--to", f"s3://{bucket}/away", "--codec", codec, "--json")
    ).json()
    assert (answer["verified_level"], answer["read_back_from"]) == ("digests", "store")
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert sum(key.endswith("manifest.json") for key in keys) == 1

    done(run(here, server, "reclaim", "hidden", "--yes", "--reason", "archived", "--purge-now"))
    assert not (here.cwd / "data/hidden").exists()
    done(run(here, server, "unarchive", "hidden"))

    assert picture(bytes(here.cwd / "data/hidden")) == before


def test_credentials_are_in_no_answer_and_in_no_catalog(here: CommandLine, server: str, bucket: str) -> None:
    outcome = done(run(here, server, "archive", "hidden", "--to", f"s3://{bucket}/away", "--json"))

    kept = b"".join(path.read_bytes() for path in here.home.rglob("*") if path.is_file())
    for secret in ("the-key-id", "the-secret"):
        assert secret not in outcome.stdout + outcome.stderr
        assert secret.encode() not in kept


def test_an_upload_in_parts_that_was_killed_is_aborted_by_the_next_run(
    here: CommandLine, s3: Any, server: str, bucket: str
) -> None:
    kill_in_the_middle(here, server, bucket)
    pending = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    assert pending, "several files are under way at once"

    done(run(here, server, "archive", "hidden", "--to", f"s3://{bucket}/away"))

    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def kill_in_the_middle(here: CommandLine, server: str, bucket: str) -> None:
    """Let a run die between two parts of the largest file."""
    killing = """
import os, signal
from artifactctl.stores import store
from artifactctl.cli.main import main
store.PART_BYTES = 5 << 20
opened = store.ObjectStore.put
def put(self, key, content):
    def dying():
        sent = 0
        for piece in content:
            yield piece
            sent += len(piece)
            if sent > 12_000_000:
                os.kill(os.getpid(), signal.SIGKILL)
    opened(self, key, dying())
store.ObjectStore.put = put
main()
"""
    died = subprocess.run(
        [sys.executable, "-c", killing, "archive", "hidden", "--to", f"s3://{bucket}/away"],
        cwd=here.cwd,
        env={**here.environment, **environment_for(server)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr


def test_a_server_that_agrees_to_everything_holds_no_copy(here: CommandLine) -> None:
    with lying_server() as liar:
        outcome = run(here, liar, "archive", "hidden", "--to", "s3://bucket/away")

    assert outcome.code != 0
    assert "Traceback" not in outcome.stderr
    plan = here("reclaim", "hidden", "--dry-run", "--json").json()
    assert [item["name"] for item in plan["refused"]] == ["hidden"]


def test_a_store_that_cannot_be_asked_proves_nothing(here: CommandLine, server: str, bucket: str) -> None:
    done(run(here, server, "archive", "hidden", "--to", f"s3://{bucket}/away"))

    plan = run(here, "http://127.0.0.1:9", "reclaim", "hidden", "--dry-run", "--json").json()

    (refused,) = plan["refused"]
    assert "could not be looked at" in str(refused["evidence"])


def test_a_bucket_that_is_not_there_is_said_in_our_words(here: CommandLine, server: str) -> None:
    outcome = run(here, server, "archive", "hidden", "--to", "s3://no-such-bucket-here/away")

    assert outcome.code == 1
    assert "no-such-bucket-here" in outcome.stderr
    assert "Traceback" not in outcome.stderr
