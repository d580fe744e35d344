"""Scanning one machine after the other."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from artifactctl.cli.scan_words import ScanWords
from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.domain.identity import HostIdentity
    from artifactctl.domain.stock import ScanReport
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.fleet import Answer


def scan_each(
    wiring: Wiring, meant: Sequence[ScanWords], *, wrote: bool, advance: Callable[[int], None]
) -> "Iterator[Answer[tuple[HostIdentity, ScanReport]]]":
    """Yield (machine, what was found there) for each; without `wrote` nothing is recorded."""
    for each in meant:

        def look(host: "Host", meant: ScanWords = each) -> "tuple[HostIdentity, ScanReport]":
            return host.identify(), _scan(wiring, host, meant, advance, wrote=wrote)

        yield from wiring.fleet.one_by_one((each.machine,), look)


def _scan(
    wiring: Wiring, host: "Host", meant: ScanWords, advance: Callable[[int], None], *, wrote: bool
) -> "ScanReport":
    from artifactctl.inventory import scanning

    seen = 0

    def progress(files: int, allocated_bytes: int, folder: bytes) -> None:
        nonlocal seen
        advance(files - seen)
        seen = files

    if not wrote:
        return scanning.look(host, wiring.catalog, meant.words, accept=meant.accept, progress=progress)
    return scanning.scan(
        host,
        wiring.catalog,
        meant.words,
        now=wiring.now(),
        actor=wiring.actor,
        accept=meant.accept,
        progress=progress,
    )
