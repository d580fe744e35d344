"""How a program's file gets its name: complete, in one step, never over anything."""

import os
from pathlib import Path


def publish(aside: Path, place: Path) -> None:
    """Rename the complete and synced file `aside` to `place` beside it, durably; FileExistsError when that is taken."""
    from artifactctl.hosts.probe.publishing import publish_file

    if aside.parent != place.parent:
        raise ValueError(f"{aside} does not lie beside {place}")
    publish_file(os.fsencode(place.parent), os.fsencode(aside.name), os.fsencode(place.name))
