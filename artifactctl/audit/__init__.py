"""The audit chain: what happened stays answerable, and a change to the past is noticed (invariant I10).

Each event is stored as the exact text that was hashed, and its text names the hash before it. The database refuses to
update or delete events; verification finds it when somebody went around that.
"""

from artifactctl.audit.log import append, event, events, export_lines, head, last_of_each_action, newest
from artifactctl.audit.verification import verify

__all__ = [
    "append",
    "event",
    "events",
    "export_lines",
    "head",
    "last_of_each_action",
    "newest",
    "verify",
]
