"""What artifactctl keeps for itself below a root: marker, journal, manifests, ballast."""

import posixpath

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import MARKER_DIRECTORY, QUARANTINED_CONTENT
from artifactctl.hosts.protocol import EntryType, Host


def measure_own_files(host: Host, root: bytes) -> int:
    """Return the bytes on disk of the root's private folder without what is set aside in it.

    What cannot be looked at counts as nothing: it then stays among the bytes that nobody accounts for.
    """
    total_bytes = 0
    pending = [posixpath.join(root, MARKER_DIRECTORY)]
    while pending:
        folder = pending.pop()
        try:
            listing = next(iter(host.walk(folder)))  # this folder alone: a quarantine may hold a million files
        except HostFailure:
            continue
        total_bytes += listing.allocated_bytes
        for entry in listing.entries:
            if entry.name == QUARANTINED_CONTENT:
                continue
            if entry.type is EntryType.DIRECTORY:
                pending.append(posixpath.join(folder, entry.name))
            else:
                total_bytes += entry.allocated_bytes
    return total_bytes
