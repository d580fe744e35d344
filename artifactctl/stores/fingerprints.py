"""By which objects a copy was seen when it was verified, so that it can be told later whether it still is that."""

import hashlib
from collections.abc import Iterable, Mapping

from artifactctl.stores.failures import StoreFailure
from artifactctl.stores.store import ObjectStore, StoredObject


def fingerprint_of(store: ObjectStore, folder: str, sizes: Mapping[str, int]) -> str:
    """Return the SHA-256 in hex over key, size and mark of every object of a copy.

    StoreFailure when one of those in `sizes` is not there, or of another size.
    """
    found = store.listing(folder)
    for key, size_bytes in sizes.items():
        if key not in found:
            raise StoreFailure(f"{store.url}/{key} was written and is not there", remedy="use another store")
        if found[key].size_bytes != size_bytes:
            raise StoreFailure(
                f"{store.url}/{key} has {found[key].size_bytes} bytes, {size_bytes} were written",
                remedy="use another store",
            )
    return _digest(found[key] for key in sorted(sizes))


def fingerprint_now(store: ObjectStore, folder: str) -> str:
    """Return the same over whatever is there now: equal as long as nobody wrote, added or removed an object."""
    found = store.listing(folder)
    return _digest(found[key] for key in sorted(found))


def _digest(objects: Iterable[StoredObject]) -> str:
    digest = hashlib.sha256()
    for item in objects:
        digest.update(f"{item.key}\0{item.size_bytes}\0{item.mark}\n".encode())
    return digest.hexdigest()
