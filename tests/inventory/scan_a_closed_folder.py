"""Run without the right to read everything: scan, close a folder, scan again; print what was said."""

import json
import sys
from pathlib import Path

from tests.artifacts import hidden_states
from tests.inventory.ground import ground_at


def main(folder: Path) -> None:
    with ground_at(folder) as ground:
        hidden_states.safetensors_shards(ground.data / "closed" / "hs")
        hidden_states.safetensors_shards(ground.data / "open")
        ground.scan()
        (ground.data / "closed" / "hs").rename(ground.data / "closed" / "moved")
        (ground.data / "open").rename(folder / "elsewhere")
        (ground.data / "closed").chmod(0)
        report = ground.scan()
        (ground.data / "closed").chmod(0o700)
    print(
        json.dumps(
            {
                "missing": report.missing,
                "registered": [item.name for item in report.registered],
                "problems": report.problems,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
