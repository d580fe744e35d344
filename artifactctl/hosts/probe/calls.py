"""Everything that can be asked of the probe: one line a primitive, for this machine and for any other.

Nothing of the probe is imported here before a call is made, so whoever only asks over a wire can read the table
anywhere. Values are JSON-safe apart from bytes; a path is given as bytes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Dict, NamedTuple, Tuple

NOTHING = "nothing"
PRIVATE = "private"  # the descriptor of the private folder, for the root's path
ROOT = "root"  # the open root, for its reference
LOCKED = "locked"  # the same under the root's operation lock
SESSION = "session"  # the session itself

_STOPPABLE = ("progress", "should_stop", "still_held")


class Call(NamedTuple):
    """One primitive. `place` is module:function; `takes` what the function gets in place of its first argument.

    `hooks` are keywords that the caller's end fills in. A prompt call is over in moments on a machine that is well.
    """

    place: str
    takes: str = NOTHING
    hooks: Tuple[str, ...] = ()
    streams: bool = False
    changes: bool = False
    is_prompt: bool = False

    def function(self) -> Callable[..., Any]:
        """Return what carries it out; the first use imports its module."""
        module, _, name = self.place.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
        return found


def _prompt(place: str, takes: str = NOTHING) -> Call:
    return Call(place, takes, is_prompt=True)


def _act(place: str, takes: str = LOCKED, hooks: Tuple[str, ...] = ()) -> Call:
    return Call(place, takes, hooks, changes=True)


CALLS: Dict[str, Call] = {
    "identify": _prompt("machine:identify"),
    "now": _prompt("machine:now_ns"),
    "uptime": _prompt("machine:uptime"),
    "usage": _prompt("volumes:usage"),
    "mounts": _prompt("volumes:mounted_volumes"),
    "settle": Call("volumes:settle"),
    "resolve": _prompt("observing:resolve"),
    "identity": _prompt("observing:identity_of"),
    "walk": Call("walking:walk", streams=True),
    "read_range": Call("reading:read_range"),
    "digest": Call("reading:digest", hooks=("progress",)),
    "observe": Call("observing:observe_path"),
    "contents": Call("contents:look_at_contents"),
    "holders": Call("observing:holders_of"),
    "uses_on_volume": Call("volume_uses:uses_on_volume_of"),
    "referrers": Call("links:referrers"),
    "activity": Call("activity:sample_growth"),
    "held_by_deleted": Call("deleted:deleted_but_open"),
    "read_marker": _prompt("marker:read_marker"),
    "write_marker": _act("marker:write_marker", takes=NOTHING),
    "mirror": _act("mirrors:write_mirror", takes=PRIVATE),
    "read_mirror": _prompt("mirrors:read_mirror", takes=PRIVATE),
    "placement": Call("placing:placement", takes=ROOT),
    "observe_quarantined": Call("quarantined:observe_quarantined", takes=ROOT),
    "left_in_purge": Call("leftovers:left_in_purge", takes=ROOT),
    "operations": Call("ledger:operations", takes=ROOT),
    "intend": _act("quarantine:intend"),
    "set_aside": _act("quarantine:set_aside"),
    "confirm": _act("quarantine:confirm"),
    "keep": _act("quarantine:keep"),
    "abandon": _act("quarantine:abandon"),
    "give_up": _act("losing:give_up"),
    "put_back": _act("restore:put_back"),
    "begin_purge": _act("purge:begin_purge"),
    "purge": _act("purge:purge", hooks=_STOPPABLE),
    "own_line": _prompt("pausing:own_line"),
    "process": _prompt("pausing:look"),
    "family": _prompt("pausing:family"),
    "may_signal": _prompt("pausing:may_signal"),
    "stop_process": _act("session:stop_process", takes=SESSION),
    "resume_process": _act("session:resume_process", takes=SESSION),
    "copy_rows": Call("copy_source:rows_of"),
    "data_ranges": Call("copy_source:data_ranges"),
    "begin_copy": _act("copy_folder:begin", takes=ROOT),
    "copies": Call("copy_placing:copies", takes=ROOT),
    "copied": Call("copy_placing:copied", takes=ROOT),
    "place_copy": _act("copy_placing:place"),
    "take_copy_away": _act("copy_placing:take_away"),
    "copying_open": Call("copy_writing:open_writer", takes=ROOT),
    "copying_rows": Call("copy_writing:rows"),
    "copying_done": Call("copy_writing:done"),
    "copying_make_folders": _act("copy_writing:make_folders", takes=NOTHING),
    "copying_begin_file": _act("copy_writing:begin_file", takes=NOTHING),
    "copying_write": _act("copy_writing:write", takes=NOTHING),
    "copying_end_file": _act("copy_writing:end_file", takes=NOTHING),
    "copying_read_back": _act("copy_writing:read_back", takes=NOTHING),
    "copying_record": _act("copy_writing:record", takes=NOTHING),
    "copying_complete": _act("copy_writing:complete", takes=NOTHING),
    "copying_close": Call("copy_writing:close_writer"),
    "lock": Call("session:take_lock", takes=SESSION),
    "still_held": _prompt("session:still_held", takes=SESSION),
    "release": Call("session:release_lock", takes=SESSION),
}
"""`changes`: when no answer comes, whether it was done is a question to the root's journal. The locks are no such
calls: a lock that nobody can answer for is lost."""
