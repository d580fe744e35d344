"""Makes the shared volumes importable: tests run in importlib mode, where folders are no packages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
