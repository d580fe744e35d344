"""What can be wrong with a catalog, and what a change can run into."""

from artifactctl.domain.errors import ArtifactctlError, Refused, UsageError
from artifactctl.domain.roles import Identity, Permission
from artifactctl.domain.verdicts import Evidence


class CatalogMissing(UsageError):
    """There is no catalog at the location."""


class CatalogTooNew(UsageError):
    """A newer artifactctl made the catalog; this one leaves it untouched."""


class CatalogOutdated(UsageError):
    """An older artifactctl made the catalog."""


class NotACatalog(UsageError):
    """What is at the location is not a catalog."""


class UnsafeFilesystem(UsageError):
    """The location is on a filesystem where SQLite loses or mixes up commits."""


class CatalogDamaged(ArtifactctlError):
    """The database reports damage. It may be a passing fault of the device below; nothing is ever made anew here."""


class CatalogFull(ArtifactctlError):
    """The catalog's disk is full; the change was rolled back."""


class CatalogUnusable(ArtifactctlError):
    """The operating system or the database server refused to open, read or write the catalog."""


class CatalogUnreachable(CatalogUnusable):
    """No connection to the database server could be made, or it broke."""


class CatalogDenied(CatalogUnusable):
    """The database server does not let this role in, or not do this."""


class CatalogReadOnly(CatalogUnusable):
    """The database server takes no writes: a standby, or one that was told so."""


class CommitUnknown(CatalogUnusable):
    """The connection broke while a change was being committed: it is recorded, or it is not."""


class DatabaseMissing(UsageError):
    """The server has no database of that name; making one is its administrator's matter."""


class CopyFailed(ArtifactctlError):
    """A copy of the catalog could not be made or put in place; what was there before is unchanged."""


class TargetTaken(Refused):
    """The database that was to be filled holds something."""


class FileTaken(Refused):
    """Something is at the path to which a new file was to be written."""


class SnapshotDamaged(UsageError):
    """A catalog export cannot be read as what a catalog knows."""


class UnknownObject(UsageError):
    """A name or number that the catalog does not hold."""


class NameTaken(Refused):
    """Another artifact, host or root has the name."""


class PathTaken(Refused):
    """Another artifact lives at the path."""


class StateChanged(Refused):
    """The object is not in the state in which the caller saw it: somebody else acted in between."""


class RootTakenOver(Refused):
    """Somebody else holds the right to change the root by now."""


class CatalogMoved(Refused):
    """The catalog was copied to another place as a whole, and that one goes on."""


class LineageCycle(Refused):
    """The edge would make an artifact its own ancestor."""


class LeaseLost(Refused):
    """The lease is over, was broken, or belongs to somebody else."""


class StepUsed(Refused):
    """The step of the plan was begun before; a step applies at most once."""


class RoleMissing(Refused):
    """Roles are in force, and whoever acts does not have the one that the act takes, or nobody can say who acts."""

    def __init__(self, permission: Permission, *, who: Identity | None, about: str, remedy: str) -> None:
        super().__init__(permission.reason, remedy=remedy)
        self.permission = permission
        self.who = who
        self.about = about

    @property
    def evidence(self) -> Evidence:
        """Return it as a piece of evidence, for an operation of which other steps were done."""
        verdict = self.permission.verdict
        return Evidence(guard="permitted", verdict=verdict, reason=self.message, remedy=self.remedy)


class LastAdministrator(Refused):
    """Whoever revokes a role could not change roles any more."""
