"""The trace sees every way of changing a file below a path, and nothing that only reads."""

import os
import sys
from pathlib import Path

import pytest

from tests.bench.system_calls import TraceTrouble, strace_run

pytestmark = pytest.mark.system

PYTHON = [sys.executable, "-I", "-S", "-c"]

CHANGES = {
    "open to write": ("openat", "os.close(os.open(f, os.O_WRONLY))"),
    "open to create": ("openat", "os.close(os.open(f + b'2', os.O_CREAT | os.O_RDONLY))"),
    "open to truncate": ("openat", "os.close(os.open(f, os.O_RDONLY | os.O_TRUNC))"),
    "open relative to a folder": ("openat", "os.close(os.open(b'f', os.O_RDWR, dir_fd=os.open(d, os.O_RDONLY)))"),
    "write": ("write", "os.write(w, b'/elsewhere')"),
    "pwrite": ("pwrite64", "os.pwrite(w, b'/elsewhere', 1)"),
    "writev": ("writev", "os.writev(w, [b'/elsewhere'])"),
    "sendfile": ("sendfile", "os.sendfile(w, os.open('/etc/passwd', os.O_RDONLY), 0, 10)"),
    "copy_file_range": ("copy_file_range", "os.copy_file_range(o, w, 1)"),
    "shared mapping": ("mmap", "mmap.mmap(os.open(f, os.O_RDWR), 1)"),
    "rename": ("rename", "os.rename(f, d + b'/g')"),
    "rename out": ("rename", "os.rename(f, d + b'/../outside')"),
    "rename relative to a folder": ("renameat", "os.rename(b'f', b'g', src_dir_fd=dfd, dst_dir_fd=dfd)"),
    "unlink": ("unlink", "os.unlink(f)"),
    "unlink relative to a folder": ("unlinkat", "os.unlink(b'f', dir_fd=dfd)"),
    "unlink relative to the working directory": ("unlink", "os.chdir(d); os.unlink(b'f')"),
    "unlink after fchdir": ("unlink", "os.fchdir(dfd); os.unlink(b'f')"),
    "unlink through a linked folder": ("unlink", "os.unlink(d + b'/../to-d/f')"),
    "unlink by a child": (
        "unlink",
        "os.chdir(d); subprocess.run([sys.executable, '-c', 'import os; os.unlink(\"f\")'])",
    ),
    "failed unlink": ("unlink", "x(lambda: os.unlink(d + b'/no'))"),
    "mkdir": ("mkdir", "os.mkdir(d + b'/new')"),
    "rmdir": ("rmdir", "os.rmdir(d + b'/empty')"),
    "link": ("link", "os.link(f, d + b'/g')"),
    "link from outside": ("link", "os.link(f, d + b'/../outside')"),
    "symlink": ("symlink", "os.symlink('anything', d + b'/g')"),
    "symlink relative to a folder": ("symlinkat", "os.symlink('anything', b'g', dir_fd=dfd)"),
    "mknod": ("mknodat", "os.mkfifo(d + b'/pipe')"),
    "socket": ("bind", "socket.socket(socket.AF_UNIX).bind(d + b'/socket')"),
    "chmod": ("chmod", "os.chmod(f, 0o600)"),
    "chmod through a link": ("chmod", "os.chmod(d + b'/../to-f', 0o600)"),
    "fchmod": ("fchmod", "os.fchmod(w, 0o600)"),
    "chown": ("chown", "os.chown(f, 0, 0)"),
    "lchown": ("lchown", "os.lchown(f, 0, 0)"),
    "truncate": ("truncate", "os.truncate(f, 1)"),
    "ftruncate": ("ftruncate", "os.ftruncate(w, 1)"),
    "fallocate": ("fallocate", "os.posix_fallocate(w, 0, 10)"),
    "setxattr": ("setxattr", "x(lambda: os.setxattr(f, 'user.a', b'1'))"),
    "removexattr": ("removexattr", "x(lambda: os.removexattr(f, 'user.a'))"),
    "utime": ("utimensat", "os.utime(f, (1, 1))"),
    "utime by descriptor": ("utimensat", "os.utime(w, (1, 1))"),
    "inode flags": ("ioctl", "x(lambda: fcntl.ioctl(r, 0x40086602, bytes(8)))"),
}

READS = {
    "open and read": "os.read(r, 10)",
    "stat": "os.stat(f); os.lstat(f)",
    "list": "os.listdir(d); list(os.walk(d))",
    "read a link": "os.readlink(d + b'/link')",
    "private mapping": "mmap.mmap(r, 1, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)",
    "lease": "fcntl.fcntl(r, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    "copy out": "os.sendfile(o, r, 0, 1)",
    "write a path of it elsewhere": "os.write(o, f)",
    "link outside that points in": "os.symlink(f, d + b'/../pointer')",
    "unlink such a link": "os.unlink(d + b'/../to-f')",
    "change a neighbour whose name begins alike": "os.mkdir(d + b'-neighbour')",
}

PRELUDE = """
import contextlib, fcntl, mmap, os, socket, subprocess, sys
d = os.fsencode(sys.argv[1]); f = d + b'/f'
dfd = os.open(d, os.O_RDONLY); r = os.open(f, os.O_RDONLY)
o = os.open(d + b'/../other', os.O_RDWR)
def x(act):
    with contextlib.suppress(OSError): act()
"""


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A folder `d` with one file `f`, a link and an empty folder; beside it links into it and another file."""
    folder = tmp_path / 'd\nwith ) = 0 <odd> "name"'
    (folder / "empty").mkdir(parents=True)
    (folder / "f").write_bytes(b"content")
    (folder / "link").symlink_to("f")
    (tmp_path / "to-d").symlink_to(folder)
    (tmp_path / "to-f").symlink_to(folder / "f")
    (tmp_path / "other").write_bytes(b"x")
    return folder


@pytest.mark.parametrize(("call", "code"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_seen(call: str, code: str, watched: Path) -> None:
    writable = "w = os.open(f, os.O_RDWR)\n" if "(w" in code or ", w" in code else ""

    traced = strace_run([*PYTHON, PRELUDE + writable + code, watched], below=watched)

    assert traced.code == 0, traced.stderr
    assert call in [each.name for each in traced.calls][1 if writable else 0 :]
    assert all(os.fsdecode(each.path).startswith(str(watched)) for each in traced.calls)


@pytest.mark.parametrize("code", READS.values(), ids=READS.keys())
def test_what_only_reads_is_no_change(code: str, watched: Path) -> None:
    traced = strace_run([*PYTHON, PRELUDE + code, watched], below=watched)

    assert traced.code == 0, traced.stderr
    assert traced.calls == ()


def test_a_failed_attempt_counts_and_says_that_it_failed(watched: Path) -> None:
    traced = strace_run(["rm", "-f", watched / "absent"], below=watched)

    assert [(each.name, each.failed) for each in traced.calls] == [("unlinkat", True)]


def test_a_name_that_is_not_utf8_is_reported_as_it_is(watched: Path) -> None:
    traced = strace_run([b"touch", os.fsencode(watched) + b"/\xff\n"], below=watched)

    assert traced.calls[0].path == os.fsencode(watched) + b"/\xff\n"


def test_the_commands_own_answer_is_passed_on(tmp_path: Path) -> None:
    traced = strace_run(["sh", "-c", "echo out; echo err >&2; exit 7"], below=tmp_path)

    assert (traced.code, traced.stdout, traced.stderr) == (7, "out\n", "err\n")


def test_a_command_that_could_write_unseen_is_an_error(tmp_path: Path) -> None:
    code = "import ctypes; ctypes.CDLL(None).syscall(425, 1, 0)"

    with pytest.raises(TraceTrouble, match="io_uring"):
        strace_run([*PYTHON, code], below=tmp_path)
