"""A draft as it is exported, loaded by a real SGLang server: `make test-sglang` runs this, the normal tests do not.

The server must come up with it: names, shapes and config.json are then as it reads them, as far as it looks. Nothing is
generated: on a CPU without SGLang's own build for it the kernels that verify are not there.
"""

import json
import os
import urllib.request
from pathlib import Path

from tests.extract.conftest import tiny_folder
from tests.extract.sglang.real.server import real_server
from tests.train.exporting.counting import counting_draft, counting_target
from train.exporting.checking import check_served

__all__ = ["tiny_folder"]

SPEAKING = (
    "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4 --disable-radix-cache --skip-server-warmup --speculative-draft-model-path"
)


def test_a_server_comes_up_with_an_exported_draft(tmp_path: Path, tiny_folder: Path) -> None:
    target = counting_target(tmp_path / "target", tiny_folder)
    draft = counting_draft(tmp_path / "draft", target)
    check_served(draft)
    python = Path(os.environ["ARTIFACTCTL_SGLANG_PYTHON"])

    flags = [*SPEAKING.split(), str(draft)]
    with (
        real_server(python, target, tmp_path / "server.log", flags=flags) as url,
        urllib.request.urlopen(f"{url}/server_info", timeout=20) as answer,
    ):
        found = json.load(answer)

    assert found["speculative_algorithm"] == "EAGLE3"
    assert found["speculative_draft_model_path"] == str(draft)
