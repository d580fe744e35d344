"""A second root on the machine of a ground or on another one, and second copies of artifacts in it."""

from dataclasses import replace

from artifactctl.domain.artifacts import Root, VerifyLevel
from artifactctl.domain.identity import ManagedPath
from artifactctl.hosts.protocol import Marker
from artifactctl.inventory.machines import known_machine
from tests.fakes.machine import FakeMachine
from tests.reclaim.ground import DAY, Ground

OTHER = b"/other"


def second_root(ground: Ground, machine: FakeMachine | None = None) -> Root:
    """Make the root `other`, on the ground's machine or on another that the catalog knows."""
    machine = machine or ground.machine
    machine.do.mkdir(OTHER)
    identity = machine.identity(OTHER)
    assert identity is not None
    with ground.catalog.reading() as reading:
        known = known_machine(reading, machine.identify())
    assert known is not None
    other = replace(
        ground.root,
        root_id="root-2",
        name="other",
        path=OTHER,
        host_id=known.host_id,
        filesystem_uuid=identity.filesystem_uuid,
        inode=identity.inode,
    )
    with ground.catalog.writing("ada", ground.now()) as writing:
        writing.add_root(other)
    machine.write_marker(
        OTHER,
        Marker(
            root_id="root-2",
            name="other",
            catalog_id=ground.catalog.lineage_id,
            catalog_epoch=ground.catalog.epoch,
            filesystem_uuid=identity.filesystem_uuid,
            inode=identity.inode,
        ),
    )
    return other


def second_copy(ground: Ground, other: Root, name: str, *, shards: int = 2, machine: FakeMachine | None = None) -> None:
    """Write the same shards as `Ground.artifact` there and record them as another copy, verified by digests."""
    machine = machine or ground.machine
    folder = other.path + b"/" + name.encode()
    machine.do.mkdir(folder)
    for number in range(shards):
        machine.do.write(folder + b"/shard-%d" % number, b"x" * (5000 + number))
    place = ManagedPath(root=other.path, relative=name.encode())
    seen = machine.observe(other, place, catalog_id=ground.catalog.lineage_id, catalog_epoch=1)
    assert seen.tree is not None
    with ground.catalog.writing("ada", ground.now()) as writing:
        replica = writing.add_replica(
            ground.known(name).artifact_id,
            other.root_id,
            name.encode(),
            is_directory=True,
            files=seen.tree.files,
            apparent_bytes=seen.tree.apparent_bytes,
            allocated_bytes=seen.tree.allocated_bytes,
            member_digest=seen.tree.member_digest,
            fingerprint=seen.tree.fingerprint,
            observed_at=ground.now(),
        )
        writing.set_verified(replica.replica_id, VerifyLevel.DIGESTS, seen.tree.fingerprint, ok=True)
    for each in {id(one): one for one in (ground.machine, machine)}.values():
        each.clock.advance(DAY)
