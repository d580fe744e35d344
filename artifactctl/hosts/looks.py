"""The half of a host that only looks: the probe's answers as domain types, wherever the probe runs."""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from artifactctl.domain.activity import VolumeActivity
from artifactctl.domain.artifacts import Root
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import FileIdentity, HostIdentity, ManagedPath
from artifactctl.domain.observation import HolderReport, Observation, Referrer, VolumeUsage, VolumeUses
from artifactctl.domain.uptime import Uptime
from artifactctl.hosts import sightings, use_sightings
from artifactctl.hosts.calling import Calls
from artifactctl.hosts.failing import looking
from artifactctl.hosts.protocol import DeletedHolder, Listing


class Looks:
    """The read-only methods of `Host`.

    `stand_in_machine_id` is used where the system has no /etc/machine-id; the caller keeps it in its state folder.
    """

    def __init__(self, calls: Calls, *, stand_in_machine_id: str = "") -> None:
        self._calls = calls
        self._stand_in_machine_id = stand_in_machine_id

    def identify(self) -> HostIdentity:
        """Return who this machine is; HostFailure without a machine id and without a stand-in."""
        with looking("identify", b"this machine"):
            found = self._calls.ask("identify")
        machine_id = found["machine_id"] or self._stand_in_machine_id
        if not machine_id:
            raise HostFailure("this machine has no /etc/machine-id", remedy="systemd-machine-id-setup")
        return HostIdentity(
            machine_id=machine_id,
            hostname=found["hostname"],
            boot_id=found["boot_id"],
            own_keys=tuple(found["own_keys"]),
        )

    def now(self) -> datetime:
        """Return this machine's clock."""
        with looking("read", b"the clock"):
            return sightings.instant(self._calls.ask("now"))

    def uptime(self) -> Uptime:
        """Return how long this machine has been up."""
        with looking("read", b"the uptime"):
            found = self._calls.ask("uptime")
        since_boot = timedelta(microseconds=found["since_boot_ns"] // 1000)
        return Uptime(machine_id=self.identify().machine_id, boot_id=found["boot_id"], since_boot=since_boot)

    def usage(self, path: bytes) -> VolumeUsage:
        """Return the space of the filesystem that holds `path`."""
        with looking("measure the space of", path):
            return sightings.volume_usage(self._calls.ask("usage", path))

    def mounts(self) -> tuple[VolumeUsage, ...]:
        """Return the real filesystems that answer."""
        with looking("read", b"/proc/self/mountinfo"):
            return tuple(sightings.volume_usage(volume) for volume in self._calls.ask("mounts"))

    def settle(self, path: bytes, *, target_available_bytes: int | None, deadline_seconds: float) -> VolumeUsage:
        """syncfs, then wait for the freed blocks to appear."""
        with looking("settle", path):
            return sightings.volume_usage(self._calls.ask("settle", path, target_available_bytes, deadline_seconds))

    def resolve(self, path: bytes) -> tuple[bytes, bytes | None]:
        """Return the absolute path and the first component that is a link."""
        with looking("resolve", path):
            absolute, link = self._calls.ask("resolve", path)
        return absolute, link

    def identity(self, path: bytes) -> FileIdentity | None:
        """Return the identity of what stands at `path`."""
        with looking("identify", path):
            found = self._calls.ask("identity", path)
        return None if found is None else sightings.file_identity(found)

    def walk(self, path: bytes) -> Iterator[Listing]:
        """Yield the folders below `path`."""
        with looking("walk", path):
            yield from sightings.listings(self._calls.stream("walk", path))

    def read_range(self, path: bytes, offset: int, length: int) -> bytes:
        """Return a piece of a regular file."""
        with looking("read", path):
            content: bytes = self._calls.ask("read_range", path, offset, length)
        return content

    def digest(self, path: bytes, *, progress: Callable[[int], None] | None = None) -> str:
        """Return the SHA-256 of a regular file."""
        with looking("hash", path):
            found: str = self._calls.ask("digest", path, progress=progress and _growth_for(progress))
        return found

    def observe(self, root: Root, target: ManagedPath, *, catalog_id: str, catalog_epoch: int) -> Observation:
        """Look at a target of `root`."""
        with looking("observe", target.absolute):
            wire = self._calls.ask("observe", root.path, target.relative)
        return sightings.observation(wire, root, catalog_id=catalog_id, catalog_epoch=catalog_epoch)

    def contents(self, root: Root, target: ManagedPath) -> ContentLook:
        """Look at what stands at a target of `root` and who could be changing it."""
        with looking("look at", target.absolute):
            return use_sightings.content_look(self._calls.ask("contents", root.path, target.relative), target)

    def holders(self, path: bytes) -> HolderReport:
        """Return who uses the file or tree at `path`."""
        with looking("look for users of", path):
            return use_sightings.holder_report(self._calls.ask("holders", path))

    def uses_on_volume(self, path: bytes) -> VolumeUses:
        """Return who uses what on the filesystem of `path`, from one look for any number of targets."""
        with looking("look for users of", path):
            return use_sightings.volume_uses(self._calls.ask("uses_on_volume", path))

    def referrers(
        self, roots: Iterable[bytes], targets: Iterable[bytes]
    ) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
        """Return the links under `roots` that lead into a target."""
        with looking("search for links in", b"the managed roots"):
            found, problems = self._calls.ask("referrers", list(roots), list(targets))
        together = (
            Referrer(
                link=os.fsencode(item["link"]), target=os.fsencode(item["target"]), is_dangling=item["is_dangling"]
            )
            for item in found
        )
        return tuple(together), tuple(problems)

    def activity(self, path: bytes, *, seconds: float) -> VolumeActivity:
        """Return who writes to the volume that holds `path`, measured for `seconds`."""
        with looking("watch the writers to", path):
            return sightings.volume_activity(self._calls.ask("activity", path, seconds))

    def held_by_deleted(self, path: bytes) -> tuple[DeletedHolder, ...]:
        """Return the deleted files on the filesystem of `path` that some process still has open."""
        with looking("look for deleted files on", path):
            found = self._calls.ask("held_by_deleted", path)
        return tuple(
            DeletedHolder(
                pid=item["pid"],
                command=item["command"],
                path=os.fsencode(item["path"]),
                size_bytes=item["size_bytes"],
            )
            for item in found
        )


def _growth_for(progress: Callable[[int], None]) -> Callable[[int], None]:
    """Return what takes totals, of which some may be left out, and tells `progress` by how much they grew."""
    done = 0

    def take(total: int) -> None:
        nonlocal done
        progress(total - done)
        done = total

    return take
