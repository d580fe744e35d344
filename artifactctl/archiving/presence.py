"""Whether copies in object stores are still what was verified: asked of the store whenever something rests on them."""

from collections.abc import Iterable

from artifactctl.archiving.store_copies import folder_of
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.errors import ArtifactctlError
from artifactctl.stores.fingerprints import fingerprint_now
from artifactctl.stores.store import ObjectStore


def archives_there(
    copies: Iterable[tuple[str, ArchiveCopy]], *, catalog_id: str
) -> tuple[frozenset[int], dict[int, str]]:
    """Return (numbers of the copies whose objects are as when they were read back, why others are not).

    `copies` are (name of the artifact, copy). Keys, sizes, marks and times are compared; nothing is downloaded.
    """
    there: set[int] = set()
    doubts: dict[int, str] = {}
    for name, copy in copies:
        try:
            found = fingerprint_now(ObjectStore(copy.url), folder_of(name, copy.archive_id, catalog_id))
        except ArtifactctlError as failure:
            doubts[copy.archive_id] = f"its copy at {copy.url} could not be looked at: {failure.message}"
            continue
        if found == copy.fingerprint:
            there.add(copy.archive_id)
        else:
            doubts[copy.archive_id] = f"its copy at {copy.url} is not as it was when it was verified"
    return frozenset(there), doubts
