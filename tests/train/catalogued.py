"""A catalog with one root, a checkpoint and its map in it, and the commands of `train` run in this process."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from extract.vocabulary.draft_map import DraftMap
from extract.vocabulary.map_files import write_map
from train.cli import train
from train.draft import DraftModel
from train.weights import write_draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogued:
    """`folder` holds the catalog, `root` is managed."""

    folder: Path
    root: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.folder), "ARTIFACTCTL_CATALOG": str(self.folder / "catalog.db")}

    def command(self, *words: str | Path) -> Any:
        """Run a command of artifactctl and return its answer."""
        surroundings = Surroundings(environment=self.environment, working_directory=self.folder)
        done = CliRunner().invoke(program, [*map(str, words), "--json"], obj=surroundings)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout) if done.stdout.startswith("{") else None

    def train(self, *words: str | Path) -> Result:
        """Run a stage; an error it raises is in the result."""
        return CliRunner().invoke(train, list(map(str, words)), env=self.environment)

    def answer(self, *words: str | Path, code: int = 0) -> Any:
        """Run a stage that must end with the code and return its answer."""
        done = self.train(*words, "--json")
        assert done.exit_code == code, (done.output, done.exception)
        return json.loads(done.stdout)

    def checkpoint(self, model: DraftModel, *, name: str = "checkpoint") -> Path:
        """Write a draft's weights as a catalogued checkpoint with its catalogued map."""
        used = [int(offset) + draft for draft, offset in enumerate(model.d2t.tolist())]
        draft_map = DraftMap(used=tuple(used), target_size=model.config.target_vocabulary)
        (self.root / f"{name}-map").mkdir()
        write_map(self.root / f"{name}-map", draft_map, {})
        map_words = ("--kind", "vocab_map", "--name", f"{name}-map", "--label", f"content={draft_map.content_digest}")
        self.command("register", self.root / f"{name}-map", *map_words)
        place = self.root / name
        place.mkdir()
        write_draft(place, model.config, model.state_dict())
        self.command("register", place, "--kind", "checkpoint", "--name", name, "--input", f"{name}-map")
        return place


def catalogued(folder: Path) -> Catalogued:
    """Make the catalog and the root."""
    made = Catalogued(folder=folder, root=folder / "volume")
    made.root.mkdir()
    made.command("init")
    made.command("root", "add", made.root, "--name", "vol")
    return made
