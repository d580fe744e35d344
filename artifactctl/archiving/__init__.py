"""Archiving: another copy somewhere else, and only what was read back from there counts as one.

1. The destination has room, by the planner, and is promised the bytes while the copy runs.
2. The source is leased, and is what the catalog says: the same members, nobody writing.
3. The copy comes into being aside, where nothing takes it for an artifact; a later run goes on where one stopped.
4. Every file is read back from the far side and hashed there, and is what was read from the source.
5. The source is still what it was in step 2.
6. The copy is renamed into its place, and then the catalog calls it live and verified, in one transaction.

A crash anywhere leaves nothing that is live and not whole (`recovery`). The original stays where it is: that it may go
now is for `reclaim` to say, where `recoverable` sees another verified copy.

Why not a state of its own for the copy while it is verified: `archiving` lasts until the last step, and no guard counts
such a copy for anything (invariant I8).
"""
