"""Servers that want a key: it goes with every request, and nowhere else."""

import traceback
from pathlib import Path

import pytest

from artifactctl.domain.errors import Refused
from extract.credentials import Key, chosen_key
from extract.running.engine import Computed
from tests.extract.sglang.conftest import OpenEngine, records
from tests.extract.sglang.fake_server import FakeServer

SECRET = "sk-0123456789abcdef"


def test_a_server_with_a_key_is_asked_with_the_one_in_the_file(tmp_path: Path, opened: OpenEngine) -> None:
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n")
    wanted = records(3)
    with FakeServer(spool=tmp_path / "spool", key=SECRET) as server:
        engine = opened(server, key=chosen_key(file=file, variable=None, environment={}))

        came = list(engine.compute(iter(wanted)))

    assert [type(each) for each in came] == [Computed] * 3


@pytest.mark.parametrize("given", ["", "sk-another-key-0123"], ids=["none", "another"])
def test_a_key_that_is_not_the_servers_is_refused_and_not_repeated(
    tmp_path: Path, opened: OpenEngine, given: str
) -> None:
    with FakeServer(spool=tmp_path / "spool", key=SECRET) as server, pytest.raises(Refused) as refused:
        opened(server, key=Key(given))

    said = "".join(traceback.format_exception(refused.value)) + refused.value.remedy
    assert "--key-file" in refused.value.remedy
    assert "answered 401" in said
    assert SECRET not in said
    assert not given or given not in said
