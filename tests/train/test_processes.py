"""The real program: in two processes, and while somebody tries to reclaim what it reads."""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.site import Site, events
from train.checkpoints import complete_checkpoints

QUICK = {"held_out": 0.0, "evaluate_every": 1000}


def wait_until(true: Callable[[], bool], *, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def steps_made(out: Path) -> int:
    return len(events(out)) if (out / "training.jsonl").exists() else 0


def ended(process, code: int) -> str:  # type: ignore[no-untyped-def]
    out, error = process.communicate(timeout=300)
    assert process.returncode == code, (out, error)
    return str(out + error, "utf-8")


def test_inputs_cannot_be_reclaimed_while_a_run_reads_them(site: Site) -> None:
    process = site.begin(**(QUICK | {"steps": 1_000_000, "checkpoint_every": 1_000_000}))
    wait_until(lambda: steps_made(site.out) > 3 or process.poll() is not None)

    for name in ("states", "map"):
        refused = site.command("why", name)
        assert "train run" in refused, refused
        kept = site.command("reclaim", name, "--reason", "not needed", "--yes", code=4)
        assert "train run" in kept, kept
    assert (site.root / "states").is_dir()
    assert process.poll() is None

    process.send_signal(signal.SIGTERM)
    said = ended(process, 5)
    ((step, _),) = complete_checkpoints(site.out)
    assert f"run-step-{step} is complete" in said
    assert "--resume" in said
    assert "train run" not in site.command("why", "states")


def test_two_processes_make_the_losses_of_one(site: Site) -> None:
    settings = QUICK | {"steps": 5, "checkpoint_every": 5, "held_out": 0.2, "evaluate_every": 5, "workers": 1}
    one = site.root / "one"
    site.train(out=one, **settings | {"workers": 0})
    launcher = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")

    ended(site.begin(launcher=launcher, **settings), 0)

    for mine, theirs in zip(events(site.out), events(one), strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
        assert mine["norm"] == pytest.approx(theirs["norm"], rel=1e-3)
    (mine,), (theirs,) = (events(place, "evaluation") for place in (site.out, one))
    assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-3)
