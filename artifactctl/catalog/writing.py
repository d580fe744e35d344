"""What can be changed in the catalog, within one short transaction that is the only one of its kind.

The caller audits in the same transaction: `audit.append(writing.connection, entry)`.
"""

from artifactctl.catalog import (
    identity_changes,
    role_changes,
)
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing_artifacts import ArtifactWriting
from artifactctl.catalog.writing_places import PlaceWriting
from artifactctl.catalog.writing_promises import PromiseWriting
from artifactctl.catalog.writing_work import WorkWriting
from artifactctl.domain.roles import Grant, Role, Subject


class Writing(PlaceWriting, ArtifactWriting, PromiseWriting, WorkWriting, Reading):
    """One transaction by `actor` at `now`; everything in it happens, or nothing does."""

    # who may

    def grant_role(self, role: Role, subject: Subject, *, reason: str) -> tuple[Grant, ...]:
        """Grant a role; returns the grants made, of which the first ever also lets its maker administer."""
        return role_changes.grant_role(self, role, subject, reason)

    def revoke_role(self, role: Role, subject: Subject, *, reason: str) -> tuple[Grant, ...]:
        """Revoke a role; LastAdministrator when its maker could not change roles any more."""
        return role_changes.revoke_role(self, role, subject, reason)

    # which catalog it is

    def raise_epoch(self, epoch: int) -> None:
        """Set a higher epoch; the lineage counts as unconfirmed from then on. StateChanged when it is not higher."""
        identity_changes.raise_epoch(self, epoch)

    def move(self, to: str) -> None:
        """Record where the catalog went as a whole; nothing is changed here after this transaction."""
        identity_changes.move(self, to)

    def confirm_lineage(self) -> None:
        """Record that a person stands behind this catalog."""
        identity_changes.confirm_lineage(self)
