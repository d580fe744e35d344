"""Run a command under strace and say which of its system calls change something below a path.

The proof of "a dry run changes nothing" (I6): every attempt counts, also one that failed. Not seen are writes through
io_uring, so a command that sets one up is an error here, and a second name of the same folder (a bind mount).
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.words import words

WRITING_FLAGS = re.compile(rb"\bO_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE)\b")
CHANGING_REQUESTS = re.compile(rb"\b(FS_IOC_SETFLAGS|FS_IOC_FSSETXATTR|FICLONE|FICLONERANGE|FIDEDUPERANGE|FITRIM)\b")


# What a call changes: the folder entry its path names, and with it the link itself where the path is a link.
NAMES = words("unlink unlinkat mkdir mkdirat rmdir mknod mknodat lchown lsetxattr lremovexattr")
BOTH_NAMES = words("rename renameat renameat2 link linkat")
SECOND_NAME = words("symlink symlinkat mount move_mount")  # the first argument is only read
# ... what its path leads to,
TARGETS = words(
    "chmod fchmodat fchmodat2 chown fchownat truncate setxattr setxattrat removexattr removexattrat creat "
    "utime utimes futimesat utimensat umount2"
)
# ... or what its descriptor is open on.
DESCRIPTORS = words(
    "write pwrite64 writev pwritev pwritev2 sendfile ftruncate fallocate fchmod fchown fsetxattr fremovexattr"
)
SECOND_DESCRIPTOR = words("copy_file_range splice")
SOCKET_NAMES = words("bind")
OPENING = words("open openat openat2 open_by_handle_at")
CONDITIONAL = words("ioctl mmap")
UNFOLLOWED = words("io_uring_setup")
MOVES = words("chdir fchdir")
BIRTHS = words("clone clone3 fork vfork")
TRACED = sorted(
    NAMES.union(
        BOTH_NAMES, SECOND_NAME, TARGETS, DESCRIPTORS, SECOND_DESCRIPTOR, SOCKET_NAMES, OPENING, CONDITIONAL,
        UNFOLLOWED, MOVES, BIRTHS,
    )
)  # fmt: skip

# With -xx strace writes every byte of a string or path as \xNN, so no name can look like syntax.
HEX = rb"(?:\\x[0-9a-f]{2})*"
LINE = re.compile(
    rb"^(?P<name>\w+)\((?P<arguments>.*?)"
    rb"(?:\)\s+= (?P<result>-?\d+|0x[0-9a-f]+|\?)(?:<(?P<opened>"
    + HEX
    + rb")>)?[^)]*\)?|<unfinished \.\.\.>\)?(?: = \?)?)$"
)
PLACE = re.compile(rb"(?:AT_FDCWD|\b\d+)<(?P<descriptor>" + HEX + rb')>|"(?P<string>' + HEX + rb')"')


class TraceTrouble(RuntimeError):
    """The trace could not be made, or holds something it cannot judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangingCall:
    """One system call that changes, or tried to change, something below the watched path."""

    name: str
    path: bytes
    failed: bool
    process: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A finished command with the calls that count."""

    code: int
    stdout: str
    stderr: str
    calls: tuple[ChangingCall, ...]


def strace_run(
    command: Sequence[str | bytes | Path],
    *,
    below: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Traced:
    """Run `command` to its end, its children included, and collect what it did at or below `below`."""
    strace = shutil.which("strace")
    if strace is None:
        raise TraceTrouble("no `strace` on this machine; install the package strace")
    start = (cwd or Path.cwd()).resolve()
    with tempfile.TemporaryDirectory(prefix="bench-trace-") as folder:
        # A file for each process (-ff): no call is ever torn apart by another process's lines.
        prefix = [
            strace,
            "-ff",
            "-qq",
            "-y",
            "-xx",
            "-s",
            "4096",
            "-e",
            "trace=" + ",".join(f"?{name}" for name in TRACED),
        ]
        done = subprocess.run(
            [*prefix, "-o", f"{folder}/trace", *command],
            cwd=start,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
        logs = {int(log.suffix[1:]): log.read_bytes() for log in Path(folder).iterdir()}
    if not logs:
        raise TraceTrouble(f"strace did not start: {done.stderr.strip()}")
    calls = tuple(_changing_calls(logs, os.fsencode(start), os.fsencode(below.resolve())))
    return Traced(code=done.returncode, stdout=done.stdout, stderr=done.stderr, calls=calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One line of a trace. `result` is -1 when the call failed or its process ended in it."""

    name: str
    arguments: bytes
    result: int
    opened: bytes

    def places(self, cwd: bytes) -> list[bytes]:
        """Return the absolute paths among the arguments; a descriptor directly before a string is its folder."""
        found: list[bytes] = []
        folder = b""
        for match in PLACE.finditer(self.arguments):
            if match["string"] is None:
                found.extend(filter(None, [folder]))
                folder = _decode(match["descriptor"])
            else:
                found.append(os.path.join(folder or cwd, _decode(match["string"])))
                folder = b""
        return [*found, *filter(None, [folder])]

    def descriptors(self) -> list[bytes]:
        """Return the paths of the descriptors among the arguments."""
        return [_decode(m["descriptor"]) for m in PLACE.finditer(self.arguments) if m["descriptor"] is not None]

    def strings(self, cwd: bytes) -> list[bytes]:
        """Return the strings among the arguments as absolute paths."""
        strings = (m["string"] for m in PLACE.finditer(self.arguments))
        return [os.path.join(cwd, _decode(string)) for string in strings if string is not None]


def _decode(text: bytes) -> bytes:
    return bytes.fromhex(text.replace(b"\\x", b"").decode("ascii")).removesuffix(b" (deleted)")


def _calls(log: bytes) -> Iterator[_Call]:
    for line in log.splitlines():
        if line.startswith((b"+++", b"---")):
            continue
        match = LINE.match(line)
        if match is None:
            raise TraceTrouble(f"not understood: {line[:300]!r}")
        result = match["result"] or b"?"
        yield _Call(
            name=match["name"].decode(),
            arguments=match["arguments"],
            result=-1 if result == b"?" else int(result, 0),
            opened=_decode(match["opened"] or b""),
        )


def _changing_calls(logs: dict[int, bytes], start: bytes, below: bytes) -> Iterator[ChangingCall]:
    """Follow every process from the first on; a child begins in the folder its parent stood in at its birth."""
    children = {child for log in logs.values() for child in _born(log)}
    waiting = [(process, start) for process in logs if process not in children]
    while waiting:
        process, cwd = waiting.pop()
        for call in _calls(logs.pop(process, b"")):
            if call.name in UNFOLLOWED:
                raise TraceTrouble(f"{call.name}: writes through io_uring cannot be followed")
            if call.name in BIRTHS and call.result in logs:
                waiting.append((call.result, cwd))
            elif call.name in MOVES and call.result == 0:
                cwd = call.places(cwd)[0]
            for path in _changed(call, cwd):
                if path == below or path.startswith(below + b"/"):
                    yield ChangingCall(name=call.name, path=path, failed=call.result < 0, process=process)


def _born(log: bytes) -> Iterator[int]:
    return (call.result for call in _calls(log) if call.name in BIRTHS)


def _changed(call: _Call, cwd: bytes) -> list[bytes]:
    """Return the real paths that this call changes."""
    if call.name in NAMES:
        return [_real_entry(path) for path in call.places(cwd)[:1]]
    if call.name in BOTH_NAMES:
        return [_real_entry(path) for path in call.places(cwd)[:2]]
    if call.name in SECOND_NAME:
        return [_real_entry(path) for path in call.places(cwd)[1:2]]
    if call.name in TARGETS:
        return [os.path.realpath(path) for path in call.places(cwd)[:1]]
    if call.name in SOCKET_NAMES:
        return [_real_entry(path) for path in call.strings(cwd)]
    if call.name in SECOND_DESCRIPTOR:
        return call.descriptors()[1:2]
    if call.name in DESCRIPTORS or _changes_its_descriptor(call):
        return call.descriptors()[:1]
    if call.name in OPENING and WRITING_FLAGS.search(call.arguments):
        return [call.opened] if call.opened else [os.path.realpath(path) for path in call.places(cwd)[:1]]
    return []


def _changes_its_descriptor(call: _Call) -> bool:
    if call.name == "ioctl":
        return CHANGING_REQUESTS.search(call.arguments) is not None
    return call.name == "mmap" and b"PROT_WRITE" in call.arguments and b"MAP_SHARED" in call.arguments


def _real_entry(path: bytes) -> bytes:
    """Return the path with links resolved in its folder only: the entry itself is what the call names."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)
