"""A long command stops between two steps, whatever signal arrives and however often."""

import signal
import subprocess
import sys

import pytest

from artifactctl.cli.interrupt import stopped_exit_code
from tests.cli.conftest import CHECKOUT

STEPS = """
import sys, time
from artifactctl.cli.interrupt import stopped_exit_code, stopping

changed = 0
with stopping() as stop:
    for number in range(50):
        print("step", number, flush=True)
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            time.sleep(0.01)
        changed += 1
        print("finished", number, flush=True)
        if stop():
            break
sys.exit(stopped_exit_code(anything_changed=bool(changed)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_step_in_hand_finish_and_a_second_one_changes_nothing(number):
    work = subprocess.Popen(
        [sys.executable, "-c", STEPS], cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert work.stdout.readline() == "step 0\n"

    work.send_signal(number)
    assert work.stderr.readline() == "stopping after the step in hand\n"
    work.send_signal(number)
    out, err = work.communicate(timeout=20)

    assert out == "finished 0\n"
    assert err == "still finishing the step in hand\n"
    assert work.returncode == 5


def test_a_command_that_does_not_poll_ends_with_130_on_sigterm(artifactctl, plug_in, environment):
    plug_in(
        "import click, time\n\n@click.command()\ndef command():\n    'Wait.'\n"
        "    print('waiting', flush=True)\n    time.sleep(30)\n"
    )
    work = subprocess.Popen(
        [sys.executable, "-m", "artifactctl", "visitor"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert work.stdout.readline() == "waiting\n"

    work.terminate()
    _, err = work.communicate(timeout=20)

    assert work.returncode == 130
    assert err.strip() == "error: interrupted"


def test_nothing_changed_is_130_and_something_changed_is_5():
    assert stopped_exit_code(anything_changed=False) == 130
    assert stopped_exit_code(anything_changed=True) == 5
