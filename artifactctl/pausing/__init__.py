"""Pausing a running writer before its disk is full, and letting it go on when there is room again.

A job that meets a full disk loses what it was writing; one that is stopped for an hour loses an hour. What holds:
- Only the named process and its descendants are stopped, each known by number and start, so never a later namesake.
- Whatever ends the watch, an error or a signal included, what it had stopped goes on; only SIGKILL of the watch itself
  cannot be answered, and therefore the line that lets the writer go on is printed at every pause.
- What somebody else had stopped before is neither counted nor let go on.

Why not stop writes instead (quota, read-only remount): the job would see an error, which is what it must not see.
"""
