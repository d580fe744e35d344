"""What the commands around archiving share: the work, its progress, and how it ends."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from artifactctl.cli.interrupt import stopped_exit_code, stopping
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ArtifactctlError, UsageError
from artifactctl.domain.text import display_path

if TYPE_CHECKING:
    from artifactctl.archiving.work import ArchivingWork
    from artifactctl.catalog import Reading
    from artifactctl.domain.artifacts import Artifact, Root
    from artifactctl.hosts.copies import CopyingHost
    from artifactctl.inventory.targets import Target
    from artifactctl.report.archive import CopyMade


def archiving_work(
    wiring: Wiring,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda size_bytes: None,
    bandwidth_bytes: int | None = None,
) -> "ArchivingWork":
    """Return what archiving works with: each machine is connected when something of it is needed."""
    from artifactctl.archiving.work import ArchivingWork
    from artifactctl.hosts.copies import require_copying

    def host_of(root: "Root") -> "CopyingHost":
        with wiring.catalog.reading() as reading:
            return require_copying(wiring.fleet.of_root(reading, root))

    return ArchivingWork(
        catalog=wiring.catalog,
        identity=lambda: wiring.identity,
        host_of=cache(host_of),
        actor=wiring.actor,
        clock=wiring.now,
        new_operation=lambda: f"{wiring.now():%Y%m%d}-{secrets.token_hex(4)}",
        say=wiring.output.note,
        should_stop=should_stop,
        progress=progress,
        bandwidth_bytes=bandwidth_bytes,
        clients=wiring.clients,
    )


def carry_out_archive(wiring: Wiring, name: str, *, to: str | None, bandwidth_bytes: int | None, codec: str) -> None:
    """Make the copy, say what it came to, and leave with the exit code."""
    from artifactctl.archiving.archive import archive_to_root
    from artifactctl.archiving.destination import destination_for, is_url
    from artifactctl.archiving.source import source_of
    from artifactctl.inventory.finding import find_artifact

    url = to if to is not None and is_url(to) else None
    if url is None and codec != "raw":
        raise UsageError(
            "a copy below a root stays as it is, so that it can be used there; --codec is for an object store",
            remedy="leave --codec out, or name a store: --to s3://bucket/prefix",
        )
    meant = None if url is not None else _place_meant(wiring, to)
    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
        typed = _typed(wiring, reading, name)
    asked = archiving_work(wiring)
    replica = source_of(asked, artifact, at=typed, towards=meant.root if meant else None)
    place = None if url is not None else destination_for(asked, artifact, replica, meant)

    def make(work: "ArchivingWork") -> "CopyMade":
        if place is not None:
            return archive_to_root(work, artifact, replica, place)
        from artifactctl.archiving.uploading import archive_to_store
        from artifactctl.stores.codecs import CODECS

        assert url is not None
        return archive_to_store(work, artifact, replica, url, CODECS[codec])

    with _telling_what_was_begun(wiring, artifact, but=(place, url)):
        _carry_out(wiring, make, total=replica.apparent_bytes, label=f"copying {artifact.name}", limit=bandwidth_bytes)


def carry_out_unarchive(wiring: Wiring, name: str, *, to: str | None, bandwidth_bytes: int | None) -> None:
    """Bring it back, say what that came to, and leave with the exit code."""
    from artifactctl.archiving.restoring import destination_of, restorable, restore
    from artifactctl.inventory.finding import find_artifact

    work, meant = archiving_work(wiring), _place_meant(wiring, to)
    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
    destination = destination_of(work, artifact, meant)
    origin = restorable(work, artifact, towards=destination.root)
    size_bytes = origin.replica.apparent_bytes if origin.replica else origin.archive.size_bytes if origin.archive else 0
    with _telling_what_was_begun(wiring, artifact, but=(destination, None)):
        _carry_out(
            wiring,
            lambda work: restore(work, origin, destination),
            total=size_bytes,
            label=f"restoring {artifact.name}",
            limit=bandwidth_bytes,
        )


def give_up_begun(wiring: Wiring, name: str, *, to: str | None) -> None:
    """Give up the copies of an artifact that were begun, to one place or to any; UnknownObject where there is none."""
    from artifactctl.archiving.abandoning import give_up
    from artifactctl.archiving.begun import begun_copies
    from artifactctl.archiving.destination import is_url
    from artifactctl.catalog import UnknownObject
    from artifactctl.inventory.finding import find_artifact
    from artifactctl.report.archive import begun_payload

    url = to if to is not None and is_url(to) else None
    meant = None if url is not None else _place_meant(wiring, to)
    with wiring.catalog.reading() as reading:
        artifact = find_artifact(reading, name, here=wiring.here)
        begun = [copy for copy in begun_copies(reading, artifact, here=wiring.here) if copy.is_at(meant, url)]
    if not begun:
        raise UnknownObject(
            f"no copy of {artifact.name} was begun there" if to else f"no copy of {artifact.name} was begun",
            remedy=f"artifactctl show {artifact.name}",
        )
    give_up(archiving_work(wiring), artifact, begun)
    wiring.output.answer(
        "archive-abandoned",
        payload=lambda: begun_payload(artifact.name, [copy.to for copy in begun]),
        text=lambda: [f"{artifact.name}: the copy begun at {display_path(copy.to)} is given up" for copy in begun],
    )


@contextmanager
def _telling_what_was_begun(
    wiring: Wiring, artifact: "Artifact", *, but: "tuple[Target | None, str | None]"
) -> Iterator[None]:
    """Say which other copies were begun and are not whole, and when this one is refused or cut, what is left of it."""
    _tell_begun(wiring, artifact, but=but)
    try:
        yield
    except ArtifactctlError:
        _tell_begun(wiring, artifact, but=None)
        raise


def _tell_begun(wiring: Wiring, artifact: "Artifact", *, but: "tuple[Target | None, str | None] | None") -> None:
    from artifactctl.archiving.begun import begun_copies

    with wiring.catalog.reading() as reading:
        begun = begun_copies(reading, artifact, here=wiring.here)
    for copy in begun:
        if but is None or not copy.is_at(*but):
            wiring.output.note(
                f"a copy begun at {display_path(copy.to)} is not whole and counts for nothing: `{copy.again}` goes on "
                f"with it, `{copy.give_up}` takes away what was written"
            )


def _place_meant(wiring: Wiring, word: str | None) -> "Target | None":
    """Return the root, or the place below one, that `--to` names, on whichever machine; None when nothing was said."""
    from artifactctl.archiving.destination import target_of_word

    if word is None:
        return None
    return target_of_word(wiring.catalog, word, here=wiring.here, reach=wiring.fleet.reach)


def _typed(wiring: Wiring, reading: "Reading", name: str) -> "Target | None":
    """Return the place below a root that the word for the artifact is, where it is one."""
    from artifactctl.inventory.finding import roots_above
    from artifactctl.inventory.places import place_of, roots_at
    from artifactctl.inventory.targets import Target

    place = place_of(reading, name, here=wiring.here)
    above = roots_above(roots_at(reading, place, here=wiring.here), place.path)
    return Target(root=above[0][0], relative=above[0][1]) if above else None


def _carry_out(
    wiring: Wiring, make: "Callable[[ArchivingWork], CopyMade]", *, total: int, label: str, limit: int | None
) -> None:
    from artifactctl.report.archive import copy_document, copy_payload

    with stopping() as request, wiring.output.progress(total, "bytes", label) as advance:
        made = make(archiving_work(wiring, should_stop=request, progress=advance, bandwidth_bytes=limit))
    wiring.output.answer("archive", payload=lambda: copy_payload(made), text=lambda: copy_document(made))
    if not made.is_verified:
        raise SystemExit(int(stopped_exit_code(anything_changed=True)))
