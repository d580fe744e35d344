"""A machine with one root that holds a tiny target, its hidden states and a vocabulary map, all verified."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from click.testing import CliRunner

from artifactctl.api import Session, open_session
from artifactctl.api.formats import Codec, FinalState
from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from artifactctl.domain.artifacts import ArtifactKind
from extract.running.weights import weights_revision
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.shards.packing import PackedWriter
from extract.shards.records import StateRecord
from extract.shards.writer import ShardPlan
from extract.telling import Telling
from extract.vocabulary.draft_map import DraftMap
from extract.vocabulary.map_files import write_map
from tests.bench.sandbox import CHECKOUT
from tests.train.tiny import HIDDEN, USED, VOCABULARY, target_folder
from train.processes import Processes
from train.run import LONGEST_RUN, Trained, Training, train_draft
from train.settings import TrainingSettings

LENGTHS = (20, 14, 33, 9, 27, 12, 30, 18, 25, 11, 16, 22)
FORM = StatesForm(hidden_size=HIDDEN, captured=3, layers=(2, 4, 5), final_state=FinalState.POST)
SETTINGS: dict[str, Any] = {
    "steps": 6,
    "records_a_step": 4,
    "precision": "fp32",
    "learning_rate": 0.01,
    "unroll_steps": 3,
    "held_out": 0.2,
    "evaluate_every": 3,
    "checkpoint_every": 2,
    "device": "cpu",
    "workers": 0,
}
ALONE = Processes(rank=0, count=1, device=torch.device("cpu"))


def made_records(form: StatesForm = FORM, *, seed: int = 0) -> list[StateRecord]:
    """Return records with random states."""
    random = np.random.default_rng(seed)
    return [
        StateRecord(
            index=index,
            token_ids=random.integers(0, VOCABULARY, tokens).astype("<i8"),
            loss_mask=(random.random(tokens) < 0.8).astype("u1") if form.has_loss_mask else None,
            states=(random.normal(size=(tokens, form.width)).astype("<f4").view("<u4") >> 16).astype("<u2"),
        )
        for index, tokens in enumerate(LENGTHS)
    ]


def write_states(folder: Path, *, form: StatesForm = FORM, codec: Codec = Codec.NONE, **facts: str) -> Path:
    """Write a packed dump; `facts` are of its fingerprint."""
    folder.mkdir(parents=True)
    layers = ",".join(map(str, form.layers or ()))
    said = {"corpus": "c1", "tokenizer": "t1", "layers": layers, "norm": form.final_state.value, "codec": codec.value}
    plan = ShardPlan(form=form, fingerprint=RunFingerprint(**(said | facts)), codec=codec)
    writer = PackedWriter(folder, plan, shard_bytes=16 * 2**10)
    for record in made_records(form):
        writer.append(record)
    writer.finish()
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """`folder` holds the catalog, `root` is managed."""

    folder: Path
    root: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.folder), "ARTIFACTCTL_CATALOG": str(self.folder / "catalog.db")}

    @property
    def out(self) -> Path:
        return self.root / "run"

    @property
    def target(self) -> Path:
        return self.folder / "target"

    def command(self, *words: str, code: int = 0) -> str:
        """Run a command of artifactctl in this process."""
        surroundings = Surroundings(environment=self.environment, working_directory=self.folder)
        done = CliRunner().invoke(program, list(words), obj=surroundings)
        assert done.exit_code == code, done.output
        return done.output

    def json(self, *words: str, code: int = 0) -> Any:
        """Run a command and return its answer."""
        return json.loads(self.command(*words, "--json", code=code))

    def open(self) -> Session:
        """Open the catalog as a program does."""
        return open_session(environment=self.environment, working_directory=self.root)

    def register(self, folder: Path, kind: ArtifactKind, *, verified: bool = True, **words: Any) -> str:
        """Catalog something by its folder's name, and verify it."""
        with self.open() as session:
            session.register(folder, kind=kind, name=folder.name, **words)
        if verified:
            self.command("verify", folder.name)
        return folder.name

    def add_states(self, name: str = "states", *, verified: bool = True, labels: Any = None, **made: Any) -> str:
        """Make hidden states of the target and catalog them."""
        facts = {"model": "tiny", "model_revision": weights_revision(self.target)} | made
        folder = write_states(self.root / name, **facts)
        return self.register(folder, ArtifactKind.HIDDEN_STATES, verified=verified, tokens=sum(LENGTHS), labels=labels)

    def add_map(self, name: str = "map", *, used: tuple[int, ...] = USED, size: int = VOCABULARY, **words: Any) -> str:
        """Make a vocabulary map and catalog it."""
        (self.root / name).mkdir()
        draft_map = DraftMap(used=used, target_size=size)
        write_map(self.root / name, draft_map, {"corpus": {"artifact": None, "digest": "c1"}})
        return self.register(self.root / name, ArtifactKind.VOCAB_MAP, **words)

    def train(
        self,
        *,
        out: Path | None = None,
        states: str = "states",
        vocab_map: str = "map",
        resume: bool = False,
        should_stop: Callable[[], bool] = lambda: False,
        longest: timedelta = LONGEST_RUN,
        **settings: Any,
    ) -> Trained:
        """Train in this process."""
        place = out or self.out
        place.mkdir(exist_ok=True)
        wanted = Training(
            hidden_states=states,
            vocab_map=vocab_map,
            target=self.target,
            out=place,
            settings=TrainingSettings(**(SETTINGS | settings)),
            resume=resume,
            longest=longest,
        )
        with self.open() as session:
            telling = Telling(lambda: session.now, place / "training.jsonl")
            return train_draft(session, wanted, ALONE, telling, should_stop=should_stop)

    def settings_file(self, **settings: Any) -> Path:
        """Write settings for a run in another process."""
        file = self.folder / "settings.toml"
        lines = [f"{name} = {json.dumps(value)}" for name, value in (SETTINGS | settings).items()]
        file.write_text("\n".join(lines))
        return file

    def begin(self, *words: str, out: Path | None = None, launcher: tuple[str, ...] = (), **settings: Any) -> Any:
        """Start `artifactctl train run` in a process of its own."""
        command = [*(launcher or (sys.executable,)), str(CHECKOUT / "tests/train/training_child.py"), "train", "run"]
        command += ["--hidden-states", "states", "--vocab-map", "map", "--target", str(self.target)]
        command += ["--out", str(out or self.out), "--config", str(self.settings_file(**settings)), *words]
        environment = {**os.environ, **self.environment, "PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, env=environment, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def events(out: Path, event: str = "step") -> list[dict[str, Any]]:
    """Return the events of that name in a run's log."""
    lines = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def losses(out: Path) -> dict[int, str]:
    """Return the loss of each step, exactly; what was made again after a crash counts as it was made last."""
    return {line["step"]: float(line["loss"]).hex() for line in events(out)}


def new_site(folder: Path) -> Site:
    """Return a machine with a target and nothing else."""
    site = Site(folder=folder, root=folder / "volume")
    site.root.mkdir()
    target_folder(site.target)
    site.command("init")
    site.command("root", "add", str(site.root), "--name", "vol")
    return site
