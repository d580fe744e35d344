"""The hook in a forward pass: which rows go where, what it refuses, and that a pass never stands still for it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from extract.sglang.attempts import AttemptFailed, Received
from extract.sglang.hook import capture_hidden_states
from extract.sglang.receiving import take
from extract.sglang.spool import Spool
from tests.bench.sandbox import CHECKOUT
from tests.extract.sglang.model_tree import HIDDEN, CausalModel, prefill

LIMIT = 2**20


def hooked(spool: Path, model: CausalModel | None = None, **config: object) -> CausalModel:
    """Return a model with the hook as SGLang registers it."""
    model = model or CausalModel()
    hook = capture_hidden_states({"spool": str(spool), "layers": [2, 4, 5], "limit_bytes": LIMIT, **config})
    model.model.register_forward_hook(hook)
    return model


def taken(spool: Path, request: str) -> Received:
    """Return a record out of the spool."""
    return take(Spool(str(spool), LIMIT), request)[0]


@pytest.mark.parametrize("packed", [False, True], ids=["list", "packed"])
def test_each_request_of_a_batch_gets_its_own_rows(tmp_path: Path, *, packed: bool) -> None:
    model = hooked(tmp_path, CausalModel(packed=packed))
    prompts = [("artifactctl-a", [1, 2, 3]), ("HEALTH_CHECK_1", [9]), ("artifactctl-b", list(range(20)))]

    model(prefill(prompts))

    for request, ids in (prompts[0], prompts[2]):
        received = taken(tmp_path, request)
        assert received.token_ids is not None
        assert received.token_ids.tolist() == ids
        assert received.cached == 0
        for mine, right in zip(received.states, model.states(ids), strict=True):
            np.testing.assert_array_equal(mine, right)
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == []


def test_what_a_module_puts_out_is_what_it_put_out_without_the_hook(tmp_path: Path) -> None:
    batch = prefill([("artifactctl-a", [1, 2, 3])])

    with_hook, without = hooked(tmp_path)(batch), CausalModel()(batch)

    assert torch.equal(with_hook[0], without[0])
    assert all(torch.equal(mine, right) for mine, right in zip(with_hook[1], without[1], strict=True))


def test_without_the_final_state_only_the_layers_are_written(tmp_path: Path) -> None:
    model = hooked(tmp_path, final_state=False)

    model(prefill([("artifactctl-a", [1, 2, 3])]))

    received = taken(tmp_path, "artifactctl-a")
    assert received.final is None
    assert [layer.shape for layer in received.layers] == [(3, HIDDEN)] * 3


def test_steps_of_decoding_and_requests_of_others_leave_nothing(tmp_path: Path) -> None:
    model = hooked(tmp_path)

    model(prefill([("artifactctl-a", [1])], extends=False))
    model(prefill([("somebody-else", [1, 2]), ("../artifactctl-a", [3])]))

    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == []


def test_cached_tokens_are_told(tmp_path: Path) -> None:
    hooked(tmp_path)(prefill([("artifactctl-a", [1, 2, 3, 4])], cached=3))

    received = taken(tmp_path, "artifactctl-a")

    assert received.cached == 3
    assert len(received.layers[0]) == 1


def test_other_layers_than_the_server_captures_are_refused_with_both(tmp_path: Path) -> None:
    hooked(tmp_path, CausalModel(layers=(1, 3, 4)))(prefill([("artifactctl-a", [1, 2])]))

    with pytest.raises(AttemptFailed, match=r"captures the boundaries \[1, 3, 4\].*\(2, 4, 5\)") as failed:
        taken(tmp_path, "artifactctl-a")
    assert failed.value.again


def test_a_pass_that_captures_nothing_is_refused(tmp_path: Path) -> None:
    hooked(tmp_path, CausalModel(layers=()))(prefill([("artifactctl-a", [1, 2])]))

    with pytest.raises(AttemptFailed, match=r"captures the boundaries \[\]"):
        taken(tmp_path, "artifactctl-a")


def test_a_pass_that_captures_less_than_it_says_is_refused(tmp_path: Path) -> None:
    model = hooked(tmp_path)
    model.model.forgotten = 1

    model(prefill([("artifactctl-a", [1, 2])]))

    with pytest.raises(AttemptFailed, match="3 states of the shapes"):
        taken(tmp_path, "artifactctl-a")


def test_a_batch_with_more_rows_than_its_requests_have_is_refused(tmp_path: Path) -> None:
    batch = prefill([("artifactctl-a", [1, 2, 3])])
    batch.extend_seq_lens_cpu = [2]

    hooked(tmp_path)(batch)

    with pytest.raises(AttemptFailed, match="for 2 rows"):
        taken(tmp_path, "artifactctl-a")


def test_a_full_spool_makes_the_pass_wait_until_there_is_room(tmp_path: Path) -> None:
    model = hooked(tmp_path, limit_bytes=5000, wait_seconds=30)
    model(prefill([("artifactctl-a", list(range(20)))]))
    program = f"import os, time; time.sleep(0.5); os.unlink({str(tmp_path / 'artifactctl-a.states')!r})"
    with subprocess.Popen([sys.executable, "-c", program]):
        began = time.monotonic()
        model(prefill([("artifactctl-b", list(range(20)))]))

    assert 0.2 < time.monotonic() - began < 20
    assert len(taken(tmp_path, "artifactctl-b").layers[0]) == 20


def test_a_spool_that_stays_full_delays_a_pass_by_its_limit_once_and_loses_nothing_silently(tmp_path: Path) -> None:
    model = hooked(tmp_path, limit_bytes=5000, wait_seconds=0.3)
    model(prefill([("artifactctl-a", list(range(20)))]))

    began = time.monotonic()
    model(prefill([("artifactctl-b", list(range(20))), ("artifactctl-c", list(range(20)))]))

    assert 0.3 <= time.monotonic() - began < 3
    assert len(taken(tmp_path, "artifactctl-a").layers[0]) == 20
    for request in ("artifactctl-b", "artifactctl-c"):
        with pytest.raises(AttemptFailed, match="had no room for"):
            taken(tmp_path, request)


def test_a_record_larger_than_the_spool_is_refused_at_once(tmp_path: Path) -> None:
    model = hooked(tmp_path, limit_bytes=1000, wait_seconds=60)

    model(prefill([("artifactctl-a", list(range(20)))]))

    with pytest.raises(AttemptFailed, match="is limited to 1000"):
        taken(tmp_path, "artifactctl-a")


def test_a_spool_that_is_gone_ends_no_pass(tmp_path: Path) -> None:
    model = hooked(tmp_path / "spool")
    for name in os.listdir(tmp_path / "spool"):
        os.unlink(tmp_path / "spool" / name)
    os.rmdir(tmp_path / "spool")

    final, _ = model(prefill([("artifactctl-a", [1, 2])]))

    assert final.shape == (2, HIDDEN)


KILLED_BEFORE_THE_RENAME = """
import os, signal, sys
from extract.sglang.spool import Spool
file = Spool(sys.argv[1], 5000).begin("artifactctl-a", 3000, until=0)
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
file.write(b"x" * 2968)
file.publish()
"""


def test_a_server_killed_between_write_and_rename_leaves_no_record_and_no_room_taken(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_BEFORE_THE_RENAME, tmp_path], cwd=CHECKOUT, check=False)

    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "artifactctl-a.partial").stat().st_size == 3000
    with pytest.raises(AttemptFailed, match="left nothing"):
        taken(tmp_path, "artifactctl-a")
    model = hooked(tmp_path, limit_bytes=5000, wait_seconds=1)
    assert Spool(str(tmp_path), 5000).used_bytes() == 0
    model(prefill([("artifactctl-b", list(range(20)))]))
    assert len(taken(tmp_path, "artifactctl-b").layers[0]) == 20


def test_a_live_server_makes_room_of_what_a_killed_one_left(tmp_path: Path) -> None:
    model = hooked(tmp_path, limit_bytes=5000, wait_seconds=5)
    subprocess.run([sys.executable, "-c", KILLED_BEFORE_THE_RENAME, tmp_path], cwd=CHECKOUT, check=False)

    model(prefill([("artifactctl-b", list(range(20)))]))

    assert len(taken(tmp_path, "artifactctl-b").layers[0]) == 20


def test_the_hook_brings_nothing_of_this_program_but_its_spool() -> None:
    program = (
        "import sys; before = set(sys.modules); import extract.sglang.hook;"
        "print(*sorted(name for name in set(sys.modules) - before"
        " if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["extract", "extract.sglang", "extract.sglang.hook", "extract.sglang.spool"]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"spool": "/x"},
        {"spool": "x", "layers": [1]},
        {"spool": "/x", "layers": [4, 2]},
        {"spool": "/x", "layers": [], "final_state": False},
        {"spool": "/x", "layers": [1], "limit": 4},
        {"spool": "/x", "layers": [1], "wait_seconds": 0},
    ],
)
def test_a_wrong_config_keeps_the_server_from_starting(config: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"`spool`|`layers`|`limit_bytes`"):
        capture_hidden_states(config)
