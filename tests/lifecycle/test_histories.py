"""No history loses what was to stay: some thousands of random steps, with a seed that is printed."""

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.lifecycle.histories import History

STEPS_OF_A_HISTORY = 40
STEPS = int(os.environ.get("ARTIFACTCTL_HISTORY_STEPS", "1500"))


def test_no_history_loses_what_was_to_stay(new_catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number = int(os.environ.get("ARTIFACTCTL_HISTORY_SEED", random.SystemRandom().randrange(2**32)))
    with capsys.disabled():
        print(f"\nARTIFACTCTL_HISTORY_SEED={number}", flush=True)
    History.template = new_catalog
    History.steps_made = History.purges_seen = History.refusals_seen = 0
    begun = time.process_time()

    run_state_machine_as_test(
        seed(number)(History),
        settings=settings(
            max_examples=max(1, STEPS // STEPS_OF_A_HISTORY),
            stateful_step_count=STEPS_OF_A_HISTORY,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # making a found history shorter takes minutes; its seed makes it again
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )

    spent = time.process_time() - begun
    with capsys.disabled():
        print(
            f"{History.steps_made} steps in {spent:.0f} s of CPU, {History.purges_seen} purges, "
            f"{History.refusals_seen} refusals",
            flush=True,
        )
    assert History.purges_seen
