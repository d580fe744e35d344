"""How much a person would miss something: the order in which first aid offers it."""

from enum import IntEnum


class Regret(IntEnum):
    """Least first. What stands lower rests on proof or on nothing being lost, what stands higher on a guess."""

    SET_ASIDE = 0  # in quarantine: somebody decided already
    HALF_WRITTEN = 1  # a temporary name, or torn: nothing can read it
    SUPERSEDED = 2  # the catalog knows a verified successor
    NEVER_FINISHED = 3  # a checkpoint without its last file, with a whole one after it
    OLDER_CHECKPOINT = 4  # a run has newer whole ones
    DOWNLOADED = 5  # a cache of what can be fetched again
    REPEATABLE = 6  # the catalog knows how to make it again
    OLDER_SIBLING = 7  # its name says that something took its place: a guess
    LONG_UNCHANGED = 8  # can be made again from what it was extracted from, perhaps
