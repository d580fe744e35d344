"""Renames that never replace anything, asked of the kernel alone: whoever looked before may have looked too early."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from artifactctl.hosts.probe.renaming import rename_privately, rename_publicly

Rename = Callable[[int, bytes, int, bytes], None]


@pytest.mark.parametrize("rename", [rename_privately, rename_publicly], ids=["among ours", "among others"])
@pytest.mark.parametrize("kind", ["empty folder", "file", "dangling link"])
def test_what_came_to_the_place_a_moment_ago_is_not_replaced(tmp_path: Path, rename: Rename, kind: str) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    if kind == "empty folder":
        old.mkdir()
        new.mkdir()
    else:
        old.write_bytes(b"ours")
    if kind == "file":
        new.write_bytes(b"theirs")
    elif kind == "dangling link":
        new.symlink_to("nowhere")
    theirs = os.lstat(new).st_ino
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(FileExistsError):
            rename(folder, b"old", folder, b"new")
    finally:
        os.close(folder)

    assert os.lstat(new).st_ino == theirs
    assert old.exists()
