"""Whether anybody could be changing a copy while it is relied on.

A page that was dirtied through a shared mapping bears no new time until it is written back, so while anybody has a
member mapped or open for writing, neither a verification nor an unchanged fingerprint says what its content is.
"""

from artifactctl.domain.artifacts import Root
from artifactctl.domain.observation import Holder, HolderKind, HolderReport
from artifactctl.domain.text import display_path
from artifactctl.guards.answered import unanswered

_HOW = {
    HolderKind.DESCRIPTOR: "has {path} open for writing",
    HolderKind.MAPPING: "has {path} mapped for writing",
    HolderKind.LOOP_DEVICE: "a loop device is backed by {path}",
    HolderKind.SWAP: "{path} is in use as swap",
    HolderKind.KERNEL_LEASE: "the kernel says that somebody has {path} open for writing",
}


def everybody_was_asked(root: Root, hostname: str) -> bool:
    """Whether it is on record that who can have files open there was asked: all take leases, or only this machine."""
    statement, _, names = root.attestation.partition(":")
    if statement == "lease":
        return True
    return statement == "sole-clients" and {name.strip() for name in names.split(",")} == {hostname}


def why_it_may_change(writers: HolderReport, *, attested: bool) -> str:
    """Return who could be writing, or what keeps us from knowing it; "" when nobody can."""
    return who_may_write(writers) or why_nobody_knows(writers, attested=attested)


def who_may_write(writers: HolderReport) -> str:
    """Return who was seen with a member open or mapped for writing; "" when nobody was."""
    if not writers.holders:
        return ""
    named = [holder for holder in writers.holders if holder.pid is not None] or list(writers.holders)
    more = f" (and {len(writers.holders) - 1} more)" if len(writers.holders) > 1 else ""
    return _described(named[0]) + more


def why_nobody_knows(writers: HolderReport, *, attested: bool) -> str:
    """Return what keeps us from knowing whether somebody is writing; "" when nothing does."""
    spots = unanswered(writers, attested=attested)
    if not spots:
        return ""
    remedies = "; ".join(dict.fromkeys(spot.settled_by for spot in spots if spot.settled_by))
    reason = f"cannot tell whether somebody is writing to it: {'; '.join(spot.detail for spot in spots)}"
    return reason + (f" (settled by: {remedies})" if remedies else "")


def _described(holder: Holder) -> str:
    words = _HOW.get(holder.kind, "uses {path}").format(path=display_path(holder.path) if holder.path else "it")
    return words if holder.pid is None else f"process {holder.pid} ({holder.command or 'unknown command'}) {words}"
