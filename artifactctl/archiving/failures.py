"""What can keep something from being archived."""

from artifactctl.domain.errors import CheckFailed, Refused, UsageError


class UnfitDestination(UsageError):
    """The words name no place where a copy can be made."""


class PlaceTaken(Refused):
    """Something stands where the copy would go."""


class NotCopiable(Refused):
    """It holds what a copy cannot have: a device, a link that leads out of it, something mounted."""


class NotAsCatalogued(Refused):
    """What lies there is not what the catalog has, so a copy of it would be a copy of something else."""


class SourceChanged(Refused):
    """It changed while it was being read: what was copied is of no use."""


class NotTheSameBytes(CheckFailed):
    """What was read back from the far side is not what was sent."""
