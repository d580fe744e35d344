"""Where the shipped data lives: beside the code in a wheel, one level up in a checkout.

Why not `importlib.resources`: with remapped package folders it fails in editable installs and for
`python -m artifactctl` started in a checkout, and with two checkouts it can pair code of one with data of another.
"""

from pathlib import Path


class ShippedDataMissing(RuntimeError):
    """A folder that belongs to the program is neither in the wheel nor in the checkout."""


def shipped_dir(name: str) -> Path:
    """Return the folder `name` (`migrations`, `policies`) that belongs to the running code."""
    package_dir = Path(__file__).resolve().parent
    in_wheel = package_dir / name
    if in_wheel.is_dir():
        return in_wheel
    checkout = package_dir.parent
    if (checkout / "setup.cfg").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise ShippedDataMissing(f"the folder `{name}` is missing from this installation; reinstall artifactctl")
