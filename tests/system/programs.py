"""Programs of the system that a test runs and that must succeed."""

import subprocess
from pathlib import Path


def run(*words: str | bytes | Path) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return done.stdout.strip()
