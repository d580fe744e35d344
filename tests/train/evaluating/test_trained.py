"""A checkpoint of `train run` on its way out: exported without its target at hand, and measured."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.train.evaluating.targets import write_llama
from tests.train.site import Site, new_site
from tests.train.tiny import HIDDEN
from train.cli import train


def answer(site: Site, *words: str | Path) -> Any:
    done = CliRunner().invoke(train, [*map(str, words), "--json"], env=site.environment)
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def test_what_was_trained_is_exported_without_its_target_and_drafts_losslessly(
    tmp_path: Path, tiny_folder: Path
) -> None:
    site = new_site(tmp_path)
    write_llama(site.target, tiny_folder, hidden=HIDDEN)
    site.add_states()
    site.add_map()
    last = site.train(steps=2).checkpoint.name
    hidden_away = site.target.rename(site.folder / "elsewhere")

    found = answer(site, "export", "--checkpoint", last, "--out", site.root / "draft", "--name", "draft")
    assert (found["layers"], found["layer_ids"]) == ([2, 4, 5], [1, 3, 4])
    assert answer(site, "export", "--check", site.root / "draft")["ok"]

    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": "why?"}) + "\n")
    for draft in ("draft", last):
        words = ("--target", hidden_away, "--prompts", prompts, "--tokens", "12", "--chain", "3")
        assert answer(site, "eval", "--draft", draft, *words)["lossless"] is True
