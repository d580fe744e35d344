"""What setup.cfg lists, and what the source tree holds."""

import configparser
from pathlib import Path

from tests.bench.sandbox import CHECKOUT


def setup_cfg() -> configparser.ConfigParser:
    """Return the parsed setup.cfg; a percent sign in it would break every install, and is an error here."""
    parser = configparser.ConfigParser()
    parser.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    return parser


def lines(section: str, option: str) -> list[str]:
    """Return the non-empty lines of a multi-line option."""
    return [line.strip() for line in setup_cfg()[section][option].splitlines() if line.strip()]


def mapped_folders() -> dict[str, str]:
    """Return package to folder for the packages that are not where their name says."""
    pairs = (line.split("=") for line in lines("options", "package_dir"))
    return {package.strip(): folder.strip() for package, folder in pairs}


def source_of(member: str) -> Path:
    """Return where a file of the wheel comes from in the checkout."""
    for package, folder in mapped_folders().items():
        inside = package.replace(".", "/") + "/"
        if member.startswith(inside):
            return CHECKOUT / folder / member.removeprefix(inside)
    return CHECKOUT / member
