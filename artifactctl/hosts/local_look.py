"""The half of a host that only looks, on this machine. `LocalAct` is the other half, `LocalHost` both."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from artifactctl.domain.activity import VolumeActivity
from artifactctl.domain.artifacts import Root
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import HostDenied, HostFailure
from artifactctl.domain.identity import FileIdentity, HostIdentity, ManagedPath
from artifactctl.domain.observation import HolderReport, Observation, Referrer, VolumeUsage, VolumeUses
from artifactctl.domain.text import display_path
from artifactctl.hosts import sightings, use_sightings
from artifactctl.hosts.probe import (
    activity,
    contents,
    deleted,
    links,
    machine,
    observing,
    reading,
    volume_uses,
    volumes,
    walking,
)
from artifactctl.hosts.protocol import DeletedHolder, Listing


@contextmanager
def _as_host_failure(doing: str, path: bytes) -> Iterator[None]:
    """Turn an OSError into a HostFailure that names the object."""
    shown = display_path(path)
    try:
        yield
    except FileNotFoundError as error:
        raise HostFailure(f"cannot {doing} {shown}: it is not there", remedy="check the path") from error
    except PermissionError as error:
        raise HostDenied(
            f"cannot {doing} {shown}: {error.strerror}", remedy="run the same command with sudo, or as its owner"
        ) from error
    except TimeoutError as error:
        raise HostFailure(
            f"cannot {doing} {shown}: the filesystem does not answer",
            remedy="check the server behind the mount, then run the command again",
        ) from error
    except OSError as error:
        raise HostFailure(
            f"cannot {doing} {shown}: {error.strerror or error}", remedy="`artifactctl doctor` looks at the volume"
        ) from error


class LocalLook:
    """The read-only methods of `Host`.

    `stand_in_machine_id` is used where the system has no /etc/machine-id; the caller keeps it in its state folder.
    """

    def __init__(self, *, stand_in_machine_id: str = "") -> None:
        self._stand_in_machine_id = stand_in_machine_id

    def identify(self) -> HostIdentity:
        """Return who this machine is; HostFailure without a machine id and without a stand-in."""
        with _as_host_failure("identify", b"this machine"):
            found = machine.identify()
        machine_id = found["machine_id"] or self._stand_in_machine_id
        if not machine_id:
            raise HostFailure("this machine has no /etc/machine-id", remedy="systemd-machine-id-setup")
        return HostIdentity(machine_id=machine_id, hostname=found["hostname"], boot_id=found["boot_id"])

    def now(self) -> datetime:
        """Return this machine's clock."""
        return sightings.instant(machine.now_ns())

    def usage(self, path: bytes) -> VolumeUsage:
        """Return the space of the filesystem that holds `path`."""
        with _as_host_failure("measure the space of", path):
            return sightings.volume_usage(volumes.usage(path))

    def mounts(self) -> tuple[VolumeUsage, ...]:
        """Return the real filesystems that answer."""
        with _as_host_failure("read", b"/proc/self/mountinfo"):
            return tuple(sightings.volume_usage(volume) for volume in volumes.mounted_volumes())

    def settle(self, path: bytes, *, target_available_bytes: int | None, deadline_seconds: float) -> VolumeUsage:
        """syncfs, then wait for the freed blocks to appear."""
        with _as_host_failure("settle", path):
            return sightings.volume_usage(volumes.settle(path, target_available_bytes, deadline_seconds))

    def resolve(self, path: bytes) -> tuple[bytes, bytes | None]:
        """Return the absolute path and the first component that is a link."""
        with _as_host_failure("resolve", path):
            return observing.resolve(path)

    def identity(self, path: bytes) -> FileIdentity | None:
        """Return the identity of what stands at `path`."""
        with _as_host_failure("identify", path):
            found = observing.identity_of(os.path.abspath(path))
        return None if found is None else sightings.file_identity(found)

    def walk(self, path: bytes) -> Iterator[Listing]:
        """Yield the folders below `path`."""
        with _as_host_failure("walk", path):
            yield from sightings.listings(walking.walk(os.path.abspath(path)))

    def read_range(self, path: bytes, offset: int, length: int) -> bytes:
        """Return a piece of a regular file."""
        with _as_host_failure("read", path):
            return reading.read_range(os.path.abspath(path), offset, length)

    def digest(self, path: bytes, *, progress: Callable[[int], None] | None = None) -> str:
        """Return the SHA-256 of a regular file."""
        with _as_host_failure("hash", path):
            return reading.digest(os.path.abspath(path), progress)

    def observe(self, root: Root, target: ManagedPath, *, catalog_id: str, catalog_epoch: int) -> Observation:
        """Look at a target of `root`."""
        with _as_host_failure("observe", target.absolute):
            wire = observing.observe_path(root.path, target.relative)
        return sightings.observation(wire, root, catalog_id=catalog_id, catalog_epoch=catalog_epoch)

    def contents(self, root: Root, target: ManagedPath) -> ContentLook:
        """Look at what stands at a target of `root` and who could be changing it."""
        with _as_host_failure("look at", target.absolute):
            return use_sightings.content_look(contents.look_at_contents(root.path, target.relative), target)

    def holders(self, path: bytes) -> HolderReport:
        """Return who uses the file or tree at `path`."""
        with _as_host_failure("look for users of", path):
            return use_sightings.holder_report(observing.holders_of(path))

    def uses_on_volume(self, path: bytes) -> VolumeUses:
        """Return who uses what on the filesystem of `path`, from one look for any number of targets."""
        with _as_host_failure("look for users of", path):
            return use_sightings.volume_uses(volume_uses.uses_on_volume_of(path))

    def referrers(
        self, roots: Iterable[bytes], targets: Iterable[bytes]
    ) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
        """Return the links under `roots` that lead into a target."""
        with _as_host_failure("search for links in", b"the managed roots"):
            found, problems = links.referrers(list(roots), list(targets))
        together = (
            Referrer(
                link=os.fsencode(item["link"]), target=os.fsencode(item["target"]), is_dangling=item["is_dangling"]
            )
            for item in found
        )
        return tuple(together), tuple(problems)

    def activity(self, path: bytes, *, seconds: float) -> VolumeActivity:
        """Return who writes to the volume that holds `path`, measured for `seconds`."""
        with _as_host_failure("watch the writers to", path):
            return sightings.volume_activity(activity.sample_growth(path, seconds))

    def held_by_deleted(self, path: bytes) -> tuple[DeletedHolder, ...]:
        """Return the deleted files on the filesystem of `path` that some process still has open."""
        with _as_host_failure("look for deleted files on", path):
            found = deleted.deleted_but_open(path)
        return tuple(
            DeletedHolder(
                pid=item["pid"],
                command=item["command"],
                path=os.fsencode(item["path"]),
                size_bytes=item["size_bytes"],
            )
            for item in found
        )
