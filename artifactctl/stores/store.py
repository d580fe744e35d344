"""One place in an object store, reached through fsspec: whole objects in, whole objects out.

An object is there only when all of it is: a file gets its name at the end, an upload in parts is completed at the end
and aborted when anything goes wrong before.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from artifactctl.stores.failures import StoreFailure, UnfitUrl, explained

PART_BYTES = 16 << 20
READ_BYTES = 8 << 20
_PARTIAL = ".partial"
_S3 = ("s3", "s3a")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """One object as the store lists it; `mark` changes whenever the object is written."""

    key: str
    size_bytes: int
    mark: str


def check_url(url: str) -> str:
    """Return the URL without a slash at its end; UnfitUrl for one that holds credentials or leads nowhere."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise UnfitUrl(
            "a URL must hold no credentials, since it is stored and shown",
            remedy="give them in the environment (AWS_ACCESS_KEY_ID, AWS_PROFILE) and leave them out of the URL",
        )
    if not parts.scheme or not (parts.netloc or parts.path.strip("/")) or parts.query or parts.fragment:
        raise UnfitUrl(f"`{url}` is not the URL of a store", remedy="write it like s3://bucket/prefix")
    return url.rstrip("/")


class ObjectStore:
    """The objects below one URL; keys are relative to it."""

    def __init__(self, url: str) -> None:
        """Open the store; UnfitUrl when the library for it is not installed."""
        self.url = check_url(url)
        try:
            core: Any = import_module("fsspec.core")  # only who archives to a store pays for it, and needs to have it
            self._files, self._top = core.url_to_fs(self.url, **_options(self.url))
        except (ImportError, ValueError) as error:
            raise UnfitUrl(
                f"`{urlsplit(url).scheme}://` cannot be used: {error}", remedy="pip install 'artifactctl[archive]'"
            ) from error

    @property
    def _is_local(self) -> bool:
        return "file" in _protocols(self._files)

    def _path(self, key: str) -> str:
        return f"{self._top.rstrip('/')}/{key}"

    def put(self, key: str, content: Iterable[bytes]) -> None:
        """Write an object; it is there when this returns, and not at all when it raises."""
        with explained(f"writing {self.url}/{key}"):
            path = self._path(key) + (_PARTIAL if self._is_local else "")
            if self._is_local:
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            file = self._files.open(path, "wb", block_size=PART_BYTES)
            try:
                for piece in content:
                    file.write(piece)
                if self._is_local:
                    file.flush()
                    os.fsync(file.fileno())
            except BaseException:
                self._give_up(file)
                raise
            file.close()
            if self._is_local:
                self._files.mv(path, self._path(key))

    def _give_up(self, file: Any) -> None:
        """Abort an upload in parts; of a file only its partial name is left, which the next run writes over.

        Closing would complete it. What cannot be aborted now is aborted before the next upload.
        """
        if self._is_local:
            file.close()
            return
        with suppress(StoreFailure), explained("aborting an upload"):
            file.discard()

    def read(self, key: str) -> Iterator[bytes]:
        """Yield an object's bytes, asked of the store anew."""
        with (
            explained(f"reading {self.url}/{key}"),
            self._files.open(self._path(key), "rb", cache_type="none", block_size=READ_BYTES) as file,
        ):
            while piece := file.read(READ_BYTES):
                yield piece

    def get(self, key: str) -> bytes:
        """Return a small object; StoreFailure when it is not there."""
        return b"".join(self.read(key))

    def listing(self, prefix: str) -> dict[str, StoredObject]:
        """Return the objects below a prefix, by key; {} when there are none."""
        with explained(f"listing {self.url}/{prefix}"):
            self._files.invalidate_cache()
            try:
                found: dict[str, Any] = self._files.find(self._path(prefix), detail=True)
            except FileNotFoundError:
                return {}
        start = len(self._top.rstrip("/")) + 1
        return {
            path[start:]: StoredObject(key=path[start:], size_bytes=int(facts["size"]), mark=_mark(facts))
            for path, facts in found.items()
            if not path.endswith(_PARTIAL)
        }

    def remove(self, prefix: str, *, named: re.Pattern[str]) -> int:
        """Remove the objects right below a prefix whose names are like that, half-written ones too; returns how many.

        Folders stay where the store has any.
        """
        with explained(f"removing {self.url}/{prefix}"):
            self._files.invalidate_cache()
            try:
                found: list[str] = self._files.find(self._path(prefix))
            except FileNotFoundError:
                return 0
            start = len(self._path(prefix)) + 1
            ours = [path for path in found if named.fullmatch(path[start:].removesuffix(_PARTIAL))]
            for path in ours:
                self._files.rm_file(path)
        return len(ours)

    def abort_uploads(self, prefix: str) -> int:
        """Abort uploads in parts that an interrupted run left below a prefix: they are seen by nobody and cost money.

        Returns how many. Other kinds of store have none.
        """
        if not set(_protocols(self._files)) & set(_S3):
            return 0
        bucket, _, start = self._path(prefix).partition("/")
        with explained(f"looking for unfinished uploads below {self.url}/{prefix}"):
            pending = [each for each in self._files.list_multipart_uploads(bucket) if each["Key"].startswith(start)]
            for each in pending:
                self._files.call_s3("abort_multipart_upload", Bucket=bucket, Key=each["Key"], UploadId=each["UploadId"])
        return len(pending)


def _options(url: str) -> dict[str, Any]:
    """Let nothing be answered from what was answered before, and let nobody wait for ever."""
    options: dict[str, Any] = {"skip_instance_cache": True}
    if urlsplit(url).scheme in _S3:
        deadlines = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 4}}
        options |= {"use_listings_cache": False, "default_cache_type": "none", "config_kwargs": deadlines}
    return options


def _protocols(files: Any) -> tuple[str, ...]:
    named = files.protocol
    return (named,) if isinstance(named, str) else tuple(named)


def _mark(facts: dict[str, Any]) -> str:
    named = [str(facts.get(name, "")) for name in ("ETag", "LastModified", "mtime", "created", "ino")]
    return hashlib.sha256("\0".join(named).encode()).hexdigest()[:32]
