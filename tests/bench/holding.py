"""Hold a file or folder in one way until standard input closes; say `held` once the hold is established.

Run as a program (`python holding.py WAY PATH`), standard library only: `holders.py` starts it as a real process, so
that what the tool has to find is what it would find in real life.
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

PROT_READ = 1
PROT_WRITE = 2
MAP_SHARED = 1
CLONE_FILES = 0x400


def wait_for_the_end() -> None:
    """Tell the starter that the hold is established, then keep it until the starter closes our standard input."""
    os.write(1, b"held\n")
    os.read(0, 1)


def descriptor(path: bytes) -> None:
    """Keep a descriptor open for reading."""
    opened = os.open(path, os.O_RDONLY)
    wait_for_the_end()
    os.close(opened)


def location_descriptor(path: bytes) -> None:
    """Keep an O_PATH descriptor, which pins the inode and gives no access to its data."""
    opened = os.open(path, os.O_PATH)
    wait_for_the_end()
    os.close(opened)


def mapping(path: bytes) -> None:
    """Keep a mapping whose descriptor is closed. Not by Python's mmap, which keeps a duplicate of the descriptor."""
    opened = os.open(path, os.O_RDONLY)
    address = libc.mmap(None, 4096, PROT_READ, MAP_SHARED, opened, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap", path)
    os.close(opened)
    wait_for_the_end()


def writable_descriptor(path: bytes) -> None:
    """Keep a descriptor open for writing and write nothing."""
    opened = os.open(path, os.O_RDWR)
    wait_for_the_end()
    os.close(opened)


def writable_mapping(path: bytes) -> None:
    """Keep a shared writable mapping whose descriptor is closed."""
    opened = os.open(path, os.O_RDWR)
    address = libc.mmap(None, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap", path)
    os.close(opened)
    wait_for_the_end()


def working_directory(path: bytes) -> None:
    """Stay in the folder."""
    os.chdir(path)
    wait_for_the_end()


def root_directory(path: bytes) -> None:
    """Have the folder as root directory, and the working directory outside of it."""
    os.chroot(path)
    wait_for_the_end()


def bind_mount(path: bytes) -> None:
    """Bind the file or folder elsewhere in this process's own mount namespace (the starter unshared it)."""
    subprocess.run(["mount", "-t", "tmpfs", "bench-bind", "/mnt"], check=True)
    place = b"/mnt/bound"
    if os.path.isdir(path):
        os.mkdir(place)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    subprocess.run([b"mount", b"--bind", path, place], check=True)
    os.chdir("/")
    wait_for_the_end()


def descriptor_in_flight(path: bytes) -> None:
    """Have the only descriptor lie unread in a socket's queue, where no process's table shows it."""
    sender, receiver = socket.socketpair(socket.AF_UNIX)
    opened = os.open(path, os.O_RDONLY)
    socket.send_fds(sender, [b"x"], [opened])
    os.close(opened)
    wait_for_the_end()
    sender.close()
    receiver.close()


def thread_descriptor(path: bytes) -> None:
    """Keep a descriptor in the table of one thread, which the process's own table does not show."""
    established, ended = threading.Event(), threading.Event()

    def hold() -> None:
        if libc.unshare(CLONE_FILES):
            raise OSError(ctypes.get_errno(), "unshare")
        opened = os.open(path, os.O_RDONLY)
        established.set()
        ended.wait()
        os.close(opened)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    if not established.wait(10):
        raise TimeoutError("the thread did not get hold of the file")
    wait_for_the_end()
    ended.set()
    thread.join()


def writing(path: bytes) -> None:
    """Append to the file, 64 KiB ten times a second."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    ended = threading.Event()

    def append() -> None:
        while not ended.wait(0.1):
            os.write(opened, bytes(65536))

    os.write(opened, bytes(65536))
    thread = threading.Thread(target=append)
    thread.start()
    wait_for_the_end()
    ended.set()
    thread.join()
    os.close(opened)


WAYS: dict[str, Callable[[bytes], None]] = {
    way.__name__: way
    for way in (
        descriptor,
        location_descriptor,
        mapping,
        writable_descriptor,
        writable_mapping,
        working_directory,
        root_directory,
        bind_mount,
        descriptor_in_flight,
        thread_descriptor,
        writing,
    )
}

if __name__ == "__main__":
    WAYS[sys.argv[1]](os.fsencode(sys.argv[2]))
