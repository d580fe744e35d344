"""What lies in an operation's quarantine, looked at as a target is."""

from __future__ import annotations

import posixpath
from typing import Any, Dict

from artifactctl.hosts.probe import ledger, marker, observing, own_changes
from artifactctl.hosts.probe.rootfolder import RootFolder


def observe_quarantined(root: RootFolder, operation: str) -> Dict[str, Any]:
    """Return `seen` (as of `observing.observe_path`), and the `catalog_id` and `catalog_epoch` of the root's marker.

    Members changed by our own acts through other names of them are shown as the manifest has them.
    """
    path = root.reference.path
    relative, original = ledger.lies_at(root, operation)
    excuses = own_changes.Excuses(root, operation)
    former = posixpath.join(path, original)
    seen = observing.observe_path(path, relative, also_known_as=(former,), excuse=excuses.of)
    found = marker.read_marker(path) or {"catalog_id": "", "catalog_epoch": 0}
    return {"seen": seen, "catalog_id": found["catalog_id"], "catalog_epoch": found["catalog_epoch"]}
