"""Scanning several machines at the same time. What is found is recorded in short transactions, whoever comes first."""

from collections.abc import Callable, Sequence
from functools import partial
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
) -> "tuple[Answer[tuple[HostIdentity, ScanReport]], ...]":
    """Return (machine, what was found there) for each; without `wrote` nothing is recorded."""

    def look(host: "Host", words: ScanWords) -> "tuple[HostIdentity, ScanReport]":
        return host.identify(), _scan(wiring, host, words, advance, wrote=wrote)

    return wiring.fleet.each_its_own([(each.machine, partial(look, words=each)) for each in meant])


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
