"""A machine with one root and one corpus in it, for runs in this process and in others."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from artifactctl.api import Session, open_session
from artifactctl.api.formats import Codec
from artifactctl.cli.main import program
from artifactctl.cli.surroundings import Surroundings
from extract.merging.manifest import Recipe
from extract.merging.preparing import Limits
from extract.merging.stage import sources_meant, with_leases_merged
from extract.merging.tokenization import CorpusTokenizer
from extract.running.corpus import Corpus
from extract.running.engine import Engine
from extract.running.outcomes import Extracted, Extraction
from extract.running.run import extract_states
from extract.telling import Telling
from tests.bench.clocks import FixedClock
from tests.bench.sandbox import CHECKOUT
from tests.extract.running.arithmetic import ArithmeticEngine
from tests.extract.texts import openai, some_conversations, write_lines

SHARD_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """`folder` holds the catalog and the log, `root` is managed."""

    folder: Path
    root: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.folder), "ARTIFACTCTL_CATALOG": str(self.folder / "catalog.db")}

    @property
    def out(self) -> Path:
        return self.root / "states"

    @property
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    def command(self, *words: str, code: int = 0) -> str:
        """Run a command of artifactctl."""
        surroundings = Surroundings(environment=self.environment, working_directory=self.folder)
        done = CliRunner().invoke(program, list(words), obj=surroundings)
        assert done.exit_code == code, done.output
        return done.stdout

    def json(self, *words: str, code: int = 0) -> Any:
        """Run a command and return its answer."""
        return json.loads(self.command(*words, "--json", code=code))

    def open(self, clock: FixedClock | None = None) -> Session:
        """Open the catalog as a program does."""
        return open_session(
            environment=self.environment, working_directory=self.root, clock=None if clock is None else clock.now
        )

    def run(
        self,
        engine: Engine | None = None,
        *,
        out: Path | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        **wanted: Any,
    ) -> Extracted:
        """Extract in this process."""
        asked = Extraction(corpus="corpus", out=out or self.out, **{"shard_bytes": SHARD_BYTES} | wanted)
        with self.open() as session:
            telling = Telling(lambda: session.now, self.log)
            return extract_states(session, asked, engine or ArithmeticEngine(), telling, should_stop=should_stop)

    def start(self, *, delay_seconds: float = 0.0, codec: Codec = Codec.NONE, out: Path | None = None) -> Any:
        """Start a process that extracts; it prints `ready` before it begins."""
        words = [str(self.folder), str(self.root), str(out or self.out), codec.value, str(delay_seconds)]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.extract.running.running_child", *words],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the noted events of a name."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def corpus(self) -> Corpus:
        """Open the corpus."""
        return Corpus(self.root / "corpus")


def make_site(
    folder: Path, root: Path, tokenizer: CorpusTokenizer, *, chats: Sequence[list[dict[str, str]]] | None = None
) -> Site:
    """Make the catalog, the root and a corpus: of `chats`, or of sixty records of a few hundred tokens."""
    site = Site(folder=folder, root=root)
    os.makedirs(root, exist_ok=True)
    (folder / "artifactctl.toml").write_text('[policy]\nquiet_time = "0s"\n')
    site.command("init")
    site.command("root", "add", str(root), "--name", "vol")
    responses = write_lines(
        root / "responses.jsonl", map(openai, some_conversations(60, seed=3) if chats is None else chats)
    )
    site.command("scan", "vol")
    recipe = Recipe(tokenizer=tokenizer, limits=Limits(max_tokens=None, min_tokens=1), seed=1)
    with site.open() as session:
        sources = sources_meant(session, [str(responses)])
        with_leases_merged(session, sources, root / "corpus", recipe, name="corpus", progress=lambda _: None)
    return site
