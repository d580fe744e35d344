"""An account that may not look into a root's folder is told so, and nothing else is concluded from it."""

import os
import shutil
from pathlib import Path

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.nobody import NOBODY, prefix_for_nobody
from tests.bench.site import Site

pytestmark = pytest.mark.system


@pytest.fixture
def nobody(site: Site) -> CommandLine:
    """The command line of an account to which the catalog is open, and no root's own folder."""
    site.superseded()
    home = site.outside / "home"
    shutil.copytree(site.cli.home, home)
    for path in (home, *home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for folder in (site.root.parent, site.outside, *Path(site.root.parent).parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    return CommandLine(home=home, cwd=site.root, prefix=prefix_for_nobody())


def test_the_account_and_the_folder_are_named_and_no_older_catalog_is_suspected(
    site: Site, nobody: CommandLine
) -> None:
    said = {
        words: nobody(*words) for words in [("reclaim", "vol/old", "--dry-run"), ("doctor",), ("verify", "vol/old")]
    }

    for words, done in said.items():
        text = " ".join((done.stdout + done.stderr).split())
        assert done.code in (3, 4, 5), (words, done)
        assert "the account nobody may not look into it, it belongs to root" in text, words
        assert f"{site.root}/.artifactctl" in text, words
        assert "run the same command with sudo" in text, words
        assert not [
            word for word in ("older copy of itself", "somebody holds", "is an older copy, and") if word in text
        ]


def test_an_account_that_cannot_read_a_root_confirms_nothing(site: Site, nobody: CommandLine) -> None:
    before = nobody("audit", "ls", "--json").json()["events"]

    repaired = nobody("doctor", "--repair", "--yes", "--json")

    assert (repaired.code, repaired.json()["repaired"]) == (3, []), repaired
    assert nobody("audit", "ls", "--json").json()["events"] == before
