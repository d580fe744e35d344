"""Work on one artifact that several programs divide among them: claims that are renewed while their holder works."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from artifactctl.api.renewal import Renewal
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.errors import Refused
from artifactctl.domain.shares import Division, Share

if TYPE_CHECKING:
    from artifactctl.catalog import Catalog
    from artifactctl.inventory.acting import Acting
    from artifactctl.inventory.dividing import Worker


class DividedWork:
    """The shares of one artifact, for one worker. The last one is for completing the artifact."""

    def __init__(
        self,
        catalog: "Catalog",
        artifact: Artifact,
        division: Division,
        worker: "Worker",
        acting_now: "Callable[[], Acting]",
    ) -> None:
        self._catalog = catalog
        self.artifact = artifact
        self._worker = worker
        self._acting_now = acting_now
        self.division = division

    def shares(self) -> tuple[Share, ...]:
        """Return the shares that were ever claimed, by number."""
        with self._catalog.reading() as reading:
            return reading.shares(self.artifact.artifact_id)

    def claim(self) -> "HeldShare | None":
        """Claim the lowest share that nobody is at, the last one once all others are finished; None when none is."""
        from artifactctl.inventory.dividing import claim_next

        share = claim_next(self._catalog, self.artifact, self._worker, acting=self._acting_now())
        return None if share is None else HeldShare(self._catalog, share, self._acting_now)

    def others_are_at_it(self) -> bool:
        """Whether a claim of another worker is in force."""
        now = self._acting_now().now
        return any(share.is_in_force(now) and share.owner != self._worker.owner for share in self.shares())


class HeldShare:
    """A share while it is worked on; a context manager that gives it back unless it was finished."""

    def __init__(self, catalog: "Catalog", share: Share, acting_now: "Callable[[], Acting]") -> None:
        from artifactctl.inventory.leasing import RENEW_EVERY

        self._catalog = catalog
        self._acting_now = acting_now
        self._renewal = Renewal(self._renew, every=RENEW_EVERY, name="artifactctl-share")
        self.share = share

    def __enter__(self) -> "HeldShare":
        self._renewal.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from artifactctl.inventory.dividing import give_share_back

        self._renewal.stop()
        if not self.share.is_finished and self._renewal.lost is None:
            give_share_back(self._catalog, self.share, acting=self._acting_now())

    def check(self) -> None:
        """Return while it is ours as far as is known; Refused when another worker took it over."""
        if self._renewal.lost is not None:
            raise Refused(self._renewal.lost.message, remedy=self._renewal.lost.remedy) from self._renewal.lost

    def prove(self, rejected: Mapping[int, str]) -> None:
        """Note which records will be missing, in a transaction that proves the claim; LeaseLost when it is lost."""
        from artifactctl.inventory.dividing import note_rejected

        note_rejected(self._catalog, self.share, rejected, acting=self._acting_now())

    def finish(self, *, records: int, tokens: int, size_bytes: int) -> None:
        """Say that it is on disk, whole."""
        from artifactctl.inventory.dividing import finish_share

        self.share = finish_share(
            self._catalog,
            self.share,
            records=records,
            tokens=tokens,
            size_bytes=size_bytes,
            acting=self._acting_now(),
        )

    def _renew(self) -> bool:
        from artifactctl.inventory.dividing import renew_share

        if not self.share.is_finished:
            renew_share(self._catalog, self.share, acting=self._acting_now())
        return True
