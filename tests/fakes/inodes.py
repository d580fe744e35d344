"""One inode of the fake disk."""

from dataclasses import dataclass, field

from artifactctl.hosts.protocol import EntryType


@dataclass(slots=True, eq=False, kw_only=True)
class Inode:
    """A file, folder, link or special file; folders map names to inode numbers of the same volume.

    `size_bytes` may exceed `len(content)`: the rest reads as zeros, so that a test can have a file of a terabyte.
    `read_error` is the errno that reading it gives (a broken disk).
    """

    number: int
    type: EntryType
    birth_ns: int
    modified_ns: int
    changed_ns: int
    read_ns: int
    owner: int = 0
    mode: int = 0o755
    links: int = 1
    size_bytes: int = 0
    allocated_bytes: int = 0
    content: bytes = b""
    entries: dict[bytes, int] = field(default_factory=dict)
    link_target: bytes = b""
    special: str = ""
    immutable: bool = False
    append_only: bool = False
    sticky: bool = False
    shared_extents: bool = False
    read_error: int = 0

    def writable_by(self, user: int) -> bool:
        """Whether `user` may change what is in it (group bits are not modelled)."""
        return user in (0, self.owner) or bool(self.mode & 0o002)

    def readable_by(self, user: int) -> bool:
        """Whether `user` may read it (group bits are not modelled)."""
        return user in (0, self.owner) or bool(self.mode & 0o004)

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes of the content; zeros where nothing was written."""
        wanted = max(0, min(length, self.size_bytes - offset))
        return self.content[offset : offset + wanted].ljust(wanted, b"\0")
