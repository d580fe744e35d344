"""A run that is killed or asked to stop, in a process of its own, ends as one that nobody touched."""

import contextlib
import random
import signal
import subprocess
import time
from pathlib import Path

from artifactctl.domain.errors import ExitCode
from tests.train.site import Site, events, losses
from train.checkpoints import MEMBERS, complete_checkpoints

STEPS = 24
SETTINGS = {"steps": STEPS, "checkpoint_every": 3, "evaluate_every": 6}
KILLS = 3


def last_step(out: Path) -> int:
    """Return the last step in the log, 0 while there is none; a line that is being written does not count."""
    with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
        return int(events(out)[-1]["step"])
    return 0


def wait_for_step(run: "subprocess.Popen[bytes]", out: Path, step: int) -> None:
    deadline = time.monotonic() + 60
    while last_step(out) < step and run.poll() is None:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.002)


def ended(run: "subprocess.Popen[bytes]", code: int = 0) -> str:
    told, said = run.communicate(timeout=120)
    assert run.returncode == code, said.decode()
    return (told + said).decode()


def test_a_run_killed_at_random_points_and_resumed_ends_as_one_that_was_not(site: Site) -> None:
    whole = site.root / "whole"
    site.train(out=whole, **SETTINGS)
    chance = random.Random(0)

    for kill in range(KILLS):
        run = site.begin(*(["--resume"] if kill else []), **SETTINGS)
        wait_for_step(run, site.out, kill * 7 + chance.randrange(1, 5))
        time.sleep(chance.random() * 0.02)
        run.kill()
        _, said = run.communicate()
        assert run.returncode == -signal.SIGKILL, said.decode()
        for _, place in complete_checkpoints(site.out):
            assert {each.name for each in place.iterdir()} == set(MEMBERS)
    ended(site.begin("--resume", **SETTINGS))

    assert losses(site.out) == losses(whole)
    assert [step for step, _ in complete_checkpoints(site.out)] == list(range(3, STEPS + 1, 3))
    for name in ("optimizer.safetensors", "model.safetensors"):
        last = f"step-{STEPS:08d}"
        assert (site.out / last / name).read_bytes() == (whole / last / name).read_bytes()
    assert not [each for each in site.out.iterdir() if each.name.startswith(".")]
    names = [each["name"] for each in site.json("ls", "--kind", "checkpoint")["artifacts"]]
    assert sorted(name for name in names if name.startswith("run-")) == sorted(
        f"run-step-{step}" for step in range(3, STEPS + 1, 3)
    )
    for step in range(3, STEPS + 1, 3):
        assert site.json("show", f"run-step-{step}")["metrics"]["step"] == step


def test_sigterm_writes_a_last_checkpoint_and_resume_goes_on_from_it(site: Site) -> None:
    whole = site.root / "whole"
    site.train(out=whole, **SETTINGS)

    run = site.begin(**(SETTINGS | {"checkpoint_every": 100}))
    wait_for_step(run, site.out, 2)
    run.send_signal(signal.SIGTERM)
    said = ended(run, ExitCode.PARTLY_DONE)
    ((stopped, place),) = complete_checkpoints(site.out)

    assert f"stopped after {stopped} of {STEPS} steps" in said
    assert "--resume" in said
    assert site.json("show", str(place))["name"] == f"run-step-{stopped}"
    ended(site.begin("--resume", **(SETTINGS | {"checkpoint_every": 100})))
    assert losses(site.out) == losses(whole)
    assert [step for step, _ in complete_checkpoints(site.out)] == [stopped, STEPS]
