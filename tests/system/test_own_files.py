"""What artifactctl keeps for itself on a volume is named as that, and is nobody's riddle."""

import os
from pathlib import Path

import pytest

from tests.bench.site import Site
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system


def test_df_tells_its_own_files_from_what_nobody_accounts_for(ext4_volume: Volume, site: Site) -> None:
    name = site.superseded()
    site.set_aside(name)

    (ours,) = (v for v in site.done("df", "--json").json()["volumes"] if v["mount"] == str(ext4_volume.mount))

    assert ours["own_bytes"] == own_files(site.root / ".artifactctl")
    rest = ours["used_bytes"] - ours["catalogued_bytes"] - ours["quarantined_bytes"] - ours["own_bytes"]
    assert ours["unaccounted_bytes"] == rest
    assert "not unaccounted" in site.done("df").stdout


def own_files(private: Path) -> int:
    """Return what lies in the private folder, what was set aside left out."""
    total = 0
    for folder, folders, names in os.walk(private):
        if os.path.basename(os.path.dirname(folder)) == "quarantine" and "content" in folders:
            folders.remove("content")
        total += sum(os.lstat(os.path.join(folder, name)).st_blocks * 512 for name in (".", *names))
    return total
