"""What the commands around archiving share: the work, its progress, and how it ends."""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from artifactctl.cli.interrupt import stopped_exit_code, stopping
from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.archiving.work import ArchivingWork


def archiving_work(
    wiring: Wiring,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda size_bytes: None,
    bandwidth_bytes: int | None = None,
) -> "ArchivingWork":
    """Return what archiving works with."""
    from artifactctl.archiving.work import ArchivingWork
    from artifactctl.hosts.copies import require_copying

    host = require_copying(wiring.host)
    return ArchivingWork(
        catalog=wiring.catalog,
        host=host,
        host_of=lambda root: host,
        actor=wiring.actor,
        clock=wiring.now,
        new_operation=lambda: f"{wiring.now():%Y%m%d}-{secrets.token_hex(4)}",
        say=wiring.output.note,
        should_stop=should_stop,
        progress=progress,
        bandwidth_bytes=bandwidth_bytes,
    )


def carry_out_archive(wiring: Wiring, name: str, *, to: str | None, bandwidth_bytes: int | None) -> None:
    """Make the copy, say what it came to, and leave with the exit code."""
    from artifactctl.archiving.archive import archive_to_root
    from artifactctl.archiving.destination import destination_for
    from artifactctl.archiving.source import source_of
    from artifactctl.inventory.finding import absolute, find_artifact
    from artifactctl.report.archive import copy_document, copy_payload

    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
        replica = source_of(reading, artifact, wiring.host, at=absolute(name, here=wiring.here))
    label = f"copying {artifact.name}"
    with stopping() as request, wiring.output.progress(replica.apparent_bytes, "bytes", label) as advance:
        work = archiving_work(wiring, should_stop=request, progress=advance, bandwidth_bytes=bandwidth_bytes)
        destination = destination_for(work, replica, to, here=wiring.here)
        made = archive_to_root(work, artifact, replica, destination)
    wiring.output.answer("archive", payload=lambda: copy_payload(made), text=lambda: copy_document(made))
    if not made.is_verified:
        raise SystemExit(int(stopped_exit_code(anything_changed=True)))
