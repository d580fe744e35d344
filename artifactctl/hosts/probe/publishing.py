"""Giving a file that was written aside its name: in one step, durably, and never over anything."""

from __future__ import annotations

import os

from artifactctl.hosts.probe.durable import flush_folder
from artifactctl.hosts.probe.renaming import rename_publicly

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def publish_file(folder: bytes, aside: bytes, name: bytes) -> None:
    """Rename the synced `aside` to `name` within `folder` and sync the folder; FileExistsError when that is taken."""
    descriptor = os.open(folder, _FOLDER)
    try:
        rename_publicly(descriptor, aside, descriptor, name)
        flush_folder(descriptor)
    finally:
        os.close(descriptor)
