"""Whether anybody could be changing a copy while it is relied on.

A page that was dirtied through a shared mapping bears no new time until it is written back, so while anybody has a
member mapped or open for writing, neither a verification nor an unchanged fingerprint says what its content is.
"""

from collections.abc import Sequence

from artifactctl.domain.attestation import Statement
from artifactctl.domain.observation import ClientLook, Holder, HolderKind, HolderReport
from artifactctl.domain.text import display_path
from artifactctl.guards.answered import unanswered

_HOW = {
    HolderKind.DESCRIPTOR: "has {path} open for writing",
    HolderKind.MAPPING: "has {path} mapped for writing",
    HolderKind.LOOP_DEVICE: "a loop device is backed by {path}",
    HolderKind.SWAP: "{path} is in use as swap",
    HolderKind.KERNEL_LEASE: "the kernel says that somebody has {path} open for writing",
}


def who_may_write_elsewhere(clients: Sequence[ClientLook]) -> str:
    """Return who was seen on another machine with a member open or mapped for writing; "" when nobody was."""
    seen = ((look.machine, who_may_write(look.report)) for look in clients if look.report is not None)
    return next((f"on {machine}: {who}" for machine, who in seen if who), "")


def who_may_write(writers: HolderReport) -> str:
    """Return who was seen with a member open or mapped for writing; "" when nobody was."""
    if not writers.holders:
        return ""
    named = [holder for holder in writers.holders if holder.pid is not None] or list(writers.holders)
    more = f" (and {len(writers.holders) - 1} more)" if len(writers.holders) > 1 else ""
    return _described(named[0]) + more


def why_nobody_knows(writers: HolderReport, statement: Statement | None, clients: Sequence[ClientLook] = ()) -> str:
    """Return what keeps us from knowing whether somebody is writing, here or on a machine that the statement names; ""
    when nothing does."""
    covered = statement is not None and statement.covers_this_machine
    here = _why_not_known(writers, attested=covered)
    if here or statement is None:
        return here
    return why_not_known_elsewhere(statement, clients)


def why_not_known_elsewhere(statement: Statement, clients: Sequence[ClientLook]) -> str:
    """Return what keeps us from knowing whether somebody writes on a machine that the statement names; "" when nothing
    does."""
    answers = {look.machine: look for look in clients}
    for client in statement.elsewhere:
        look = answers.get(client.machine)
        if look is None or look.report is None:
            why = look.problem if look is not None else "it was not asked"
            return f"cannot tell whether somebody on {client.machine} is writing to it: {why}"
        told = _why_not_known(look.report, attested=True)
        if told:
            return f"on {client.machine}: {told}"
    return ""


def _why_not_known(writers: HolderReport, *, attested: bool) -> str:
    spots = unanswered(writers, attested=attested)
    if not spots:
        return ""
    remedies = "; ".join(dict.fromkeys(spot.settled_by for spot in spots if spot.settled_by))
    reason = f"cannot tell whether somebody is writing to it: {'; '.join(spot.detail for spot in spots)}"
    return reason + (f" (settled by: {remedies})" if remedies else "")


def _described(holder: Holder) -> str:
    words = _HOW.get(holder.kind, "uses {path}").format(path=display_path(holder.path) if holder.path else "it")
    return words if holder.pid is None else f"process {holder.pid} ({holder.command or 'unknown command'}) {words}"
