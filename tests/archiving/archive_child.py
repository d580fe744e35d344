"""One archiving in a process of its own: `python archive_child.py FOLDER`, stopped where ARTIFACTCTL_POINT says."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def run_archive(folder: Path, point: str) -> subprocess.CompletedProcess[str]:
    """Archive `hidden` to `far` on the ground in the folder."""
    return subprocess.run(
        [sys.executable, "-m", "tests.archiving.archive_child", str(folder)],
        cwd=CHECKOUT,
        env={**os.environ, "ARTIFACTCTL_POINT": point},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def main(folder: str) -> None:
    """Open the catalog that stands there and archive."""
    from artifactctl.catalog import open_catalog
    from tests.archiving.ground import NOON, Ground

    catalog = open_catalog(Path(folder) / "catalog.db", now=NOON)
    with catalog.reading() as reading:
        near, far = reading.root("near"), reading.root("far")
    assert near is not None
    assert far is not None
    print(Ground(near=near, far=far, catalog=catalog).archive().is_verified)
    catalog.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
