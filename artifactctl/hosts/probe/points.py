"""Numbered points between the steps of a removal or a copy, where a test can stop or kill the process.

A test aid, harmless otherwise: nothing happens unless the environment variable ARTIFACTCTL_POINT names the point, as
`<point>=kill` (the process kills itself with SIGKILL) or `<point>=fifo:<path>` (it waits until somebody has opened
the FIFO for writing and closed it again).
"""

import os
import signal

VARIABLE = "ARTIFACTCTL_POINT"

POINTS = (
    "intend:begun",
    "intend:folder-made",
    "intend:manifest-half-written",
    "intend:manifest-written",
    "intend:note-written",
    "intend:journalled",
    "set-aside:begun",
    "set-aside:checked",
    "set-aside:renamed",
    "set-aside:synced",
    "set-aside:journalled",
    "put-back:begun",
    "put-back:intent-journalled",
    "put-back:renamed",
    "put-back:synced",
    "put-back:journalled",
    "begin-purge:begun",
    "begin-purge:intent-journalled",
    "begin-purge:renamed",
    "begin-purge:synced",
    "begin-purge:journalled",
    "purge:begun",
    "purge:folder-entered",
    "purge:member-removed",
    "purge:emptied",
    "purge:synced",
    "purge:journalled",
    "copy:begun",
    "copy:folder-made",
    "copy:listing-written",
    "copy:noted",
    "copy:piece-written",
    "copy:files-synced",
    "copy:files-recorded",
    "copy:completed",
    "copy:placed",
    "copy:place-synced",
    "copy:over",
    "journal:half-written",
    "journal:written",
)


def reached(name: str) -> None:
    """Do what ARTIFACTCTL_POINT asks for at this point; nothing when it names another or none."""
    wanted, _, what = os.environ.get(VARIABLE, "").partition("=")
    if wanted != name:
        return
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what.startswith("fifo:"):
        with open(what[len("fifo:") :], "rb") as waiting:
            waiting.read()
