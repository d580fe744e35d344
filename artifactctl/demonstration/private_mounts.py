"""A mount table of one's own, for what is left of this process and for everything it starts.

A mount made in it is seen nowhere else and ends with the last process that has it: also after SIGKILL, when no code of
ours runs any more, the kernel drops it, and the loop device below detaches by itself. That is what `unshare -m` does,
done here in place: the process id, the terminal and the signals stay what they are, and a kernel that says no leaves
another way to go on.
"""

import ctypes
import errno
import os

CLONE_NEWNS = 0x0002_0000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18


def leave_shared_mounts() -> None:
    """Give this process its own mount table; OSError when the kernel refuses.

    In a chroot whose top is no mount, nothing can be made private: mounts still are this process's own unless the
    machine shares them, and then only the unmounting of `stage` ends them.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise _error("unshare")
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) and ctypes.get_errno() != errno.EINVAL:
        raise _error("mount")


def _error(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
