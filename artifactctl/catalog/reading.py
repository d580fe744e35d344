"""What can be asked of the catalog, within one consistent look at it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, select

from artifactctl.catalog import (
    archive_records,
    artifact_queries,
    lineage_queries,
    member_queries,
    place_queries,
    policy_facts,
    promise_queries,
    role_queries,
    root_leases,
    share_records,
    taking_queries,
    work_queries,
)
from artifactctl.catalog.artifact_queries import BYTES_AT_PATH
from artifactctl.catalog.mapping import to_identity
from artifactctl.catalog.schema import catalog_identity
from artifactctl.domain.archives import ArchiveCopy, ArchivedObject
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    Hold,
    Lease,
    LineageEdge,
    Replica,
    ReplicaState,
    Reservation,
    Root,
    Run,
)
from artifactctl.domain.ledger import (
    Approval,
    CatalogIdentity,
    KnownHost,
    KnownVolume,
    Measurement,
    Operation,
    RootLease,
    SavedPlan,
    ShardLocation,
    Sighting,
    Taken,
    Verification,
)
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.roles import Grant
from artifactctl.domain.shares import Division, Share
from artifactctl.domain.uptime import Uptime
from artifactctl.policy.facts import Facts
from artifactctl.policy.scope import EVERY_FACT, Needed, Wanted


class Reading:
    """One snapshot: two questions within it are answered about the same world.

    `uptime` asks the machine at hand, None where nobody can: then only clocks speak of what is over.
    """

    def __init__(self, connection: Connection, *, uptime: Callable[[], Uptime] | None = None) -> None:
        self.connection = connection
        self.uptime = uptime

    def identity(self) -> CatalogIdentity:
        """Return which catalog this is, and whether a person stands behind it."""
        return to_identity(self.connection.execute(select(catalog_identity)).one())

    def revision(self) -> int:
        """Return a number that every write raises."""
        revision: int = self.connection.execute(select(catalog_identity.c.revision)).scalar_one()
        return revision

    def last_written_at(self) -> datetime:
        """Return the latest instant of any write, by the writers' clocks."""
        instant: datetime = self.connection.execute(select(catalog_identity.c.written_at)).scalar_one()
        return instant

    # artifacts and their copies

    def artifacts(
        self,
        *,
        kind: ArtifactKind | None = None,
        state: ReplicaState | None = None,
        names: Collection[str] | None = None,
        numbers: Collection[int] | None = None,
    ) -> tuple[Artifact, ...]:
        """Return artifacts by name, tombstones included, with all their replicas; `state`: having one in that state.

        `numbers` are artifact ids; of names and numbers only one can be given.
        """
        return artifact_queries.artifacts(self.connection, kind=kind, state=state, names=names, numbers=numbers)

    def artifact(self, name: str) -> Artifact | None:
        """Return the artifact that has the name now."""
        return artifact_queries.by_name(self.connection, name)

    def artifact_by_id(self, artifact_id: int) -> Artifact | None:
        """Return one artifact."""
        return artifact_queries.by_id(self.connection, artifact_id)

    def artifacts_named_ever(self, name: str) -> tuple[Artifact, ...]:
        """Return the artifact of this name and the tombstones that had it before, newest first."""
        return artifact_queries.named_ever(self.connection, name)

    def artifact_at(
        self, root_id: str, relative: bytes, *, states: Collection[ReplicaState] = BYTES_AT_PATH
    ) -> Artifact | None:
        """Return the artifact with a replica at exactly this path, by default one whose bytes should be there."""
        return artifact_queries.at_path(self.connection, root_id, relative, states)

    def artifacts_below(self, root_id: str, relative: bytes) -> tuple[Artifact, ...]:
        """Return artifacts with bytes strictly below the path; b"" is the root itself."""
        return artifact_queries.below(self.connection, root_id, relative)

    def artifacts_above(self, root_id: str, relative: bytes) -> tuple[Artifact, ...]:
        """Return artifacts with bytes at a folder strictly above the path, outermost first."""
        return artifact_queries.above(self.connection, root_id, relative)

    def replica(self, replica_id: int) -> Replica | None:
        """Return one replica."""
        return artifact_queries.replica_by_id(self.connection, replica_id)

    def archives(self, *, artifact_ids: Collection[int] | None = None) -> tuple[ArchiveCopy, ...]:
        """Return the copies in object stores, of these artifacts or of all, oldest first."""
        return archive_records.archives(self.connection, artifact_ids)

    def archived_objects(self, archive_id: int) -> tuple[ArchivedObject, ...]:
        """Return the members of such a copy that were read back, by number."""
        return archive_records.objects(self.connection, archive_id)

    def names_like(self, text: str, *, limit: int = 20) -> tuple[str, ...]:
        """Return names that begin with the text, then those that contain it; if there are none, similar ones."""
        return artifact_queries.names_like(self.connection, text, limit)

    def measurements(self, artifact_id: int) -> tuple[Measurement, ...]:
        """Return what was measured about an artifact, oldest first."""
        return artifact_queries.measurements(self.connection, artifact_id)

    def all_measurements(self) -> Iterator[Measurement]:
        """Yield what was measured about every artifact, by artifact number and oldest first."""
        return artifact_queries.all_measurements(self.connection)

    def verifications(self, replica_id: int) -> tuple[Verification, ...]:
        """Return the verifications of a replica, oldest first."""
        return artifact_queries.verifications(self.connection, replica_id)

    def sightings(self, replica_id: int, *, limit: int = 20) -> tuple[Sighting, ...]:
        """Return the newest recorded observations of a replica, newest first."""
        return artifact_queries.sightings(self.connection, replica_id, limit)

    # members

    def members(self, artifact_id: int) -> Iterator[tuple[bytes, str, int]]:
        """Yield (relative path, `f` file, `l` link or `o` other, size in bytes) in `member_order`."""
        return member_queries.members(self.connection, artifact_id)

    def member_count(self, artifact_id: int) -> int | None:
        """Return how many members are catalogued, None when they were never listed."""
        return member_queries.count(self.connection, artifact_id)

    def members_listed_at(self, artifact_id: int) -> datetime | None:
        """Return since when the catalogued members are those they are now, None when none were ever listed."""
        return member_queries.listed_at(self.connection, artifact_id)

    def digests(self, artifact_id: int) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield (relative path, digest or None) in `member_order`."""
        return member_queries.digests(self.connection, artifact_id)

    def find_shards(self, name: str | bytes, limit: int = 20) -> tuple[ShardLocation, ...]:
        """Return members by their file name, or by the end of their path (`folder/file`)."""
        return member_queries.find(self.connection, name, limit)

    # lineage

    def parents(self, artifact_id: int) -> tuple[LineageEdge, ...]:
        """Return the edges to what the artifact came from or needs."""
        return lineage_queries.parents(self.connection, artifact_id)

    def children(self, artifact_id: int) -> tuple[LineageEdge, ...]:
        """Return the edges to what came from the artifact or needs it."""
        return lineage_queries.children(self.connection, artifact_id)

    def ancestors(self, artifact_id: int) -> tuple[int, ...]:
        """Return everything the artifact came from, however far up, in ascending order."""
        return lineage_queries.ancestors(self.connection, artifact_id)

    def descendants(self, artifact_id: int) -> tuple[int, ...]:
        """Return everything that came from the artifact, however far down, in ascending order."""
        return lineage_queries.descendants(self.connection, artifact_id)

    def edges(self) -> tuple[LineageEdge, ...]:
        """Return the whole graph."""
        return lineage_queries.edges(self.connection)

    # policies

    def policy_facts(
        self, scope: Sequence[Wanted], *, now: datetime, also: Collection[int] = (), needed: Needed = EVERY_FACT
    ) -> tuple[Facts, ...]:
        """Return what policies see of each artifact that has bytes somewhere and is in the scope, or in `also`."""
        return policy_facts.policy_facts(self.connection, scope, also=also, now=now, needed=needed)

    # machines and places

    def hosts(self) -> tuple[KnownHost, ...]:
        """Return the machines that are worked with, by name."""
        return place_queries.hosts(self.connection)

    def hosts_ever(self) -> tuple[KnownHost, ...]:
        """Return every machine by name, the forgotten ones too."""
        return place_queries.hosts_ever(self.connection)

    def host(self, name_or_id: str | int) -> KnownHost | None:
        """Return a machine by its number, or one that is worked with by its name."""
        return place_queries.host(self.connection, name_or_id)

    def roots(self) -> tuple[Root, ...]:
        """Return the managed roots in use, by name."""
        return place_queries.roots(self.connection)

    def root(self, name_or_id: str) -> Root | None:
        """Return one root in use by its name or id."""
        return place_queries.root(self.connection, name_or_id)

    def roots_on(self, filesystem_uuid: str) -> tuple[Root, ...]:
        """Return the roots in use on one filesystem."""
        return place_queries.roots_on(self.connection, filesystem_uuid)

    def root_lease(self, root_id: str) -> RootLease | None:
        """Return who last took the right to change a root, None when nobody ever did."""
        return root_leases.of_root(self.connection, root_id)

    def volumes(self) -> tuple[KnownVolume, ...]:
        """Return the volumes as last seen."""
        return place_queries.volumes(self.connection)

    # promises

    def leases(self, now: datetime, *, artifact_ids: Collection[int] | None = None) -> tuple[Lease, ...]:
        """Return leases that are neither released nor expired."""
        return promise_queries.leases(self.connection, now, artifact_ids, self.uptime)

    def lease(self, lease_id: str) -> Lease | None:
        """Return one lease, whatever became of it."""
        return promise_queries.lease(self.connection, lease_id)

    def holds(self, *, artifact_ids: Collection[int] | None = None) -> tuple[Hold, ...]:
        """Return holds that were not released; one whose `until` has passed still holds."""
        return promise_queries.holds(self.connection, artifact_ids)

    def released_holds(self) -> tuple[Hold, ...]:
        """Return the holds that somebody released."""
        return promise_queries.released_holds(self.connection)

    def reservations(self, now: datetime, *, filesystem_uuid: str | None = None) -> tuple[Reservation, ...]:
        """Return reservations that are neither released nor expired."""
        return promise_queries.reservations(self.connection, now, filesystem_uuid, self.uptime)

    # runs, plans, operations

    def runs(self, *, stage: str | None = None, artifact_id: int | None = None) -> tuple[Run, ...]:
        """Return runs, oldest first; `artifact_id`: that read or wrote the artifact."""
        return work_queries.runs(self.connection, stage, artifact_id)

    def plan(self, digest: str) -> SavedPlan | None:
        """Return a saved plan by its whole digest."""
        return work_queries.plan(self.connection, digest)

    def approvals(self, digest: str) -> tuple[Approval, ...]:
        """Return the approvals of a plan, oldest first."""
        return work_queries.approvals(self.connection, digest)

    def used_steps(self, digest: str) -> tuple[int, ...]:
        """Return the steps of a plan that were begun, saved or not."""
        return work_queries.used_steps(self.connection, digest)

    def operation(self, operation_id: str) -> Operation | None:
        """Return one operation."""
        return work_queries.operation(self.connection, operation_id)

    def operations(
        self,
        *,
        states: Collection[JournalEvent] | None = None,
        artifact_id: int | None = None,
        root_id: str | None = None,
    ) -> tuple[Operation, ...]:
        """Return operations, oldest first."""
        return work_queries.operations(self.connection, states=states, artifact_id=artifact_id, root_id=root_id)

    # divided work

    def division(self, artifact_id: int) -> Division | None:
        """Return how the making of an artifact is divided, None where it is not."""
        return share_records.division_of(self.connection, artifact_id)

    def shares(self, artifact_id: int) -> tuple[Share, ...]:
        """Return the shares of an artifact that were ever claimed, by number."""
        return share_records.shares(self.connection, artifact_id)

    # roles

    def grants(self) -> tuple[Grant, ...]:
        """Return the roles in force, oldest first; none at all means that everybody may do everything."""
        return role_queries.grants(self.connection)

    # how much was taken

    def taken_between(self, since: datetime, until: datetime) -> Taken:
        """Return what was set aside or purged in that time and not put back."""
        return taking_queries.taken_between(self.connection, since, until)

    def last_runs(self, count: int, *, without: str = "") -> tuple[Taken, ...]:
        """Return what each of the last plans that were carried out took, newest first, but for the plan `without`."""
        return taking_queries.last_runs(self.connection, count, without=without)

    def live_by_kind(self) -> Mapping[ArtifactKind, int]:
        """Return how many artifacts of each kind have a live copy."""
        return taking_queries.live_by_kind(self.connection)
