"""What can stand in the way of taking stock."""

from artifactctl.domain.errors import Refused, UsageError


class UnfitRoot(UsageError):
    """The path cannot be a managed root."""


class UnfitTarget(UsageError):
    """The path can never be reclaimed, or not by its path."""


class RootTaken(Refused):
    """The folder, or one around or inside it, is managed already, here or by another catalog."""


class RootInUse(Refused):
    """Something on the root still needs it."""


class LastCopies(Refused):
    """The last copies of something lie there, and what was removed relied on them."""


class NotTheRecordedVolume(Refused):
    """What is at the root's path is not what was there when it was added: unmounted, replaced or copied."""


class OutsideRoots(UsageError):
    """The path lies below no managed root."""


class NothingThere(UsageError):
    """Nothing is at the path, and the catalog knows of nothing there."""


class UnfitLink(UsageError):
    """The kinds of two artifacts do not allow the role, or there is no usual role for them."""
