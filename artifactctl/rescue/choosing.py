"""Which candidates the suggested command names, and the command itself; pure."""

from collections.abc import Sequence
from datetime import datetime

from artifactctl.capacity.selection import ReclaimCandidate, least_regret
from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.text import shell_word
from artifactctl.hosts.protocol import DeletedHolder
from artifactctl.report.rescue_values import RescueCandidate
from artifactctl.rescue.regret import Regret

COMFORTABLE_SHARE = 0.15
"""How much of a volume is free when nobody worries: what is aimed at when no need was told."""

WORTH_A_RESTART_BYTES = 1024 * 1024
"""Deleted files smaller than this are every program's scratch."""


def target_of(usage: VolumeUsage, *, needed_bytes: int | None, available_bytes: int) -> int:
    """Return the bytes to free: what was asked for, else what brings the volume back to comfort; 0 for none."""
    if needed_bytes is not None:
        return needed_bytes
    return max(0, round(usage.size_bytes * COMFORTABLE_SHARE) - available_bytes)


def choose(candidates: Sequence[RescueCandidate], target_bytes: int) -> tuple[RescueCandidate, ...]:
    """Return the least-regret set that frees so much; all that are free to go when together they do not suffice."""
    usable = {_key(c): c for c in candidates if c.is_free_to_go and c.freed_bytes > 0}
    if target_bytes <= 0:
        return ()
    chosen = least_regret([_selectable(candidate) for candidate in usable.values()], needed=target_bytes)
    if not chosen:
        return tuple(usable.values())
    names = {item.name for item in chosen}
    return tuple(candidate for key, candidate in usable.items() if key in names)


def _selectable(candidate: RescueCandidate) -> ReclaimCandidate:
    """Return the candidate as the selection knows it: its regret is what each of its bytes costs."""
    regret = 2 * candidate.regret + (0 if candidate.is_settled else 1)
    return ReclaimCandidate(
        name=_key(candidate),
        freed_bytes=candidate.freed_bytes,
        superseded=False,
        regenerate_cost=float(regret * candidate.freed_bytes),
        created_at=candidate.modified_at,
        set_aside=candidate.regret == Regret.SET_ASIDE,
    )


def _key(candidate: RescueCandidate) -> str:
    return candidate.operation or candidate.path.decode("utf-8", "surrogateescape")


def command_for(chosen: Sequence[RescueCandidate], *, catalog: str, machine: str = "") -> str:
    """Return one line for a shell, "" for nothing to do. It asks before it does anything; `catalog` is `--catalog`.

    `machine` stands before the paths of another machine than this one.

    What is registered and what is not are reclaimed by two commands. A path that nobody registered makes its folder a
    managed root, so the outer folders come first: a root around another one would be refused.
    """
    program = "artifactctl" + (
        f" --catalog {shell_word(catalog.encode('utf-8', 'surrogateescape'))}" if catalog else ""
    )
    where = f"{machine}:".encode() if machine else b""
    in_place = sorted((c for c in chosen if not c.operation), key=lambda c: (c.path.count(b"/"), c.path))
    aside = [candidate.operation for candidate in chosen if candidate.operation]
    commands = (
        ("quarantine purge", aside),
        ("reclaim", [shell_word(where + c.path) for c in in_place if c.is_registered]),
        ("reclaim", [shell_word(where + c.path) for c in in_place if not c.is_registered]),
    )
    return " && ".join(f"{program} {command} {' '.join(words)}" for command, words in commands if words)


def look_at_openers(deleted: Sequence[DeletedHolder], *, machine: str = "") -> str:
    """Return the line that shows who keeps deleted files open: ending or restarting them is a person's decision."""
    pids = ",".join(str(pid) for pid in sorted({h.pid for h in deleted if h.size_bytes >= WORTH_A_RESTART_BYTES}))
    where = f"  # on {machine}" if machine else ""
    return f"ps -o pid,user,lstart,args -p {pids}{where}" if pids else ""


def is_expired(grace_until: datetime | None, *, now: datetime, clock_trusted: bool) -> bool:
    """Whether a quarantine is past its grace; never by a clock that is behind."""
    return clock_trusted and grace_until is not None and now >= grace_until
