"""What goes wrong in the probe: a message that names the object, and what to type next."""


class ProbeFailure(Exception):
    """The machine could not do it; whether it happened is not known."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class RootMismatch(ProbeFailure):
    """The root's journal belongs to another root: this one was cloned, copied or replaced."""


class JournalDamaged(ProbeFailure):
    """A record in the middle of the journal is not what was written."""


class ManifestDamaged(ProbeFailure):
    """A member manifest has no valid end: nothing can be matched against it."""


class RootBusy(ProbeFailure):
    """Somebody else has the root's operation lock."""


class LockLost(ProbeFailure):
    """The lock under which an act was to be done is somebody else's by now: nothing was begun."""


class Fault(ProbeFailure):
    """The probe itself failed on another machine; the message has where."""
