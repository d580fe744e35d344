"""The losses of a tiny run, bit for bit, and how many bytes its checkpoints take beside what was planned."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.train.site import Site, events, losses
from train.checkpoints import TrainingState, write_checkpoint
from train.draft import DraftConfig, DraftModel, initialise
from train.optimizing import optimizer_of
from train.settings import TrainingSettings

GOLDEN = {
    1: "0x1.4aa3b40000000p+4",
    2: "0x1.ab24a00000000p+4",
    3: "0x1.2190ec0000000p+4",
    4: "0x1.68c0f40000000p+3",
    5: "0x1.7a2f480000000p+3",
}

WRITTEN_ON = ("2.13.0", "AVX2", "AMD")
"""The torch release, the instructions that it used, and whose processor: others sum in another order."""


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    """An operation without a deterministic version is an error."""
    torch.use_deterministic_algorithms(mode=True)
    yield
    torch.use_deterministic_algorithms(mode=False)


def test_the_losses_are_those_that_were_written_down(site: Site) -> None:
    """A refactoring changes none of them; who changes the arithmetic writes new ones down, and says why."""
    site.train(steps=5, checkpoint_every=5)
    made = losses(site.out)
    if here() == WRITTEN_ON:
        assert made == GOLDEN
    else:
        assert {step: float.fromhex(loss) for step, loss in made.items()} == pytest.approx(
            {step: float.fromhex(loss) for step, loss in GOLDEN.items()}, rel=1e-3
        )


def here() -> tuple[str, str, str]:
    """Return what the golden losses depend on."""
    vendor = next(
        (line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), ""
    )
    release = torch.__version__.partition("+")[0]
    return release, torch.backends.cpu.get_cpu_capability(), (vendor.partition(":")[2].split() or ["unknown"])[0]


def test_the_same_run_twice_is_the_same_and_another_seed_is_another(site: Site) -> None:
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        site.train(out=site.root / name, seed=seed, steps=3)
    assert losses(site.root / "one") == losses(site.root / "two")
    assert losses(site.root / "one") != losses(site.root / "other")


def test_training_lowers_the_loss(site: Site) -> None:
    site.train(steps=60, checkpoint_every=60, held_out=0.0, initial_head="random")
    made = events(site.out)
    assert made[-1]["loss"] < 0.8 * made[0]["loss"]


def test_the_planner_foresees_the_bytes_of_a_checkpoint_within_a_percent(site: Site, tmp_path: Path) -> None:
    config = DraftConfig(
        hidden_size=256,
        intermediate_size=512,
        attention_heads=4,
        key_value_heads=2,
        head_size=64,
        target_vocabulary=8000,
        draft_vocabulary=2000,
        layers=(2, 4, 5),
    )
    draft = DraftModel(config, used=range(2000), embedding_VH=torch.zeros(8000, 256))
    initialise(draft, seed=0)
    settings = TrainingSettings()
    state = TrainingState(step=1, records_drawn=8, identity={}, settings=settings.as_json(), metrics={})

    place, size_bytes = write_checkpoint(tmp_path, draft, optimizer_of(draft, settings), state)

    words = ("--draft-params", str(config.parameters), "--volume", "vol")
    more, fewer = (site.json("plan", "training", *words, "--keep", keep) for keep in ("2", "1"))
    planned_bytes = more["demand_bytes"] - fewer["demand_bytes"]
    assert size_bytes == sum(file.stat().st_size for file in place.iterdir())
    assert size_bytes == pytest.approx(planned_bytes, rel=0.01)
