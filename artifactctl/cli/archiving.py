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
    from artifactctl.archiving.destination import destination_for, place_meant
    from artifactctl.archiving.source import source_of
    from artifactctl.inventory.finding import absolute, find_artifact
    from artifactctl.report.archive import copy_document, copy_payload

    meant = place_meant(archiving_work(wiring), to, here=wiring.here)
    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
        typed = absolute(name, here=wiring.here)
        replica = source_of(reading, artifact, wiring.host, at=typed, not_in=meant.root if meant else None)
    label = f"copying {artifact.name}"
    with stopping() as request, wiring.output.progress(replica.apparent_bytes, "bytes", label) as advance:
        work = archiving_work(wiring, should_stop=request, progress=advance, bandwidth_bytes=bandwidth_bytes)
        made = archive_to_root(work, artifact, replica, destination_for(work, replica, meant))
    wiring.output.answer("archive", payload=lambda: copy_payload(made), text=lambda: copy_document(made))
    if not made.is_verified:
        raise SystemExit(int(stopped_exit_code(anything_changed=True)))
