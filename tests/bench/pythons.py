"""Other Pythons that a machine may have: what is sent to it must run on the oldest, and be refused by older ones."""

import os
import shutil
import subprocess
from pathlib import Path


def python_of(version: str) -> str | None:
    """Return a Python of that version that runs, None where there is none.

    Looked for: $ARTIFACTCTL_OLDEST_PYTHON for 3.8, what a version manager keeps (its stand-in in the path may be there
    without it), the path.
    """
    named = os.environ.get("ARTIFACTCTL_OLDEST_PYTHON") if version == "3.8" else None
    kept = sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for found in (named, *kept, shutil.which(f"python{version}")):
        if found is not None and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode:
            return found
    return None
