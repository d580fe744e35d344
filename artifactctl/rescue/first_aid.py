"""The whole of first aid: look, judge, choose, and say what to paste."""

import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from artifactctl.capacity.headroom import NO_RESERVE, measure_headroom
from artifactctl.domain.errors import UsageError
from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.text import display_path
from artifactctl.inventory.targets import is_file
from artifactctl.report.rescue_values import Coverage, Filling, FirstAid, WriterSeen
from artifactctl.report.sizes import counted
from artifactctl.rescue.choosing import choose, command_for, look_at_openers, target_of
from artifactctl.rescue.finds import Findings
from artifactctl.rescue.judging import QUIET, Judge
from artifactctl.rescue.knowledge import Knowledge
from artifactctl.rescue.rates import filling_of, writers_of
from artifactctl.rescue.set_aside import quarantined_bytes, set_aside_candidates
from artifactctl.rescue.watching import FirstAidHost, Watched, watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person asked: about which path, how much is needed, how long it may take.

    `catalog` is what `--catalog` said, "" for nothing; `quiet` is how long nothing may have changed;
    `homes` are the home directories of the machine, none of which can be managed; `machine` is its name where it is
    not this one.
    """

    path: bytes
    needed_bytes: int | None
    seconds: float
    catalog: str = ""
    quiet: timedelta = QUIET
    homes: tuple[bytes, ...] = ()
    machine: str = ""


def first_aid(
    host: FirstAidHost,
    question: Question,
    knowledge: Knowledge,
    *,
    clock: Callable[[], datetime],
    progress: Callable[[int], None] = lambda _: None,
) -> FirstAid:
    """Return the answer; UsageError when there is no folder at the path. Changes nothing anywhere.

    The clock is asked once the look is over: when the disk is full is counted from the moment its space was measured.
    """
    top, given = _top(host, question)
    began_at = clock()
    tops = tuple(dict.fromkeys((top, given)))
    watched = watch(host, top, tops=tops, seconds=question.seconds, progress=progress)
    usage = host.usage(top)
    now = clock()
    # A promise keeps nobody from writing: what counts for a disk that fills is when writes fail.
    headroom = measure_headroom(usage, reserve=NO_RESERVE)
    available_bytes, limited_by = headroom.binding(peak_bytes=usage.available_bytes, files=1)
    judged = Judge(
        top=top,
        findings=watched.findings,
        knowledge=knowledge,
        began_at=began_at,
        now=now,
        quiet=question.quiet,
        homes=question.homes,
    ).judge()
    candidates = (*set_aside_candidates(knowledge, now=now), *judged.candidates)
    target_bytes = target_of(usage, needed_bytes=question.needed_bytes, available_bytes=available_bytes)
    chosen = choose(candidates, target_bytes)
    writers, filling = _writing(watched, usage, available_bytes=available_bytes, now=now)
    problems = [*watched.problems, *watched.findings.problems, *_blindness(watched)]
    aside_bytes = quarantined_bytes(host, top, watched.findings.roots, problems)
    return FirstAid(
        path=top,
        usage=usage,
        available_bytes=available_bytes,
        limited_by=limited_by,
        made_at=now,
        filling=filling,
        writers=writers,
        candidates=candidates,
        kept=judged.kept,
        deleted_open=tuple(item for item in watched.deleted if item.size_bytes),
        quarantined_bytes=aside_bytes,
        coverage=_coverage(top, watched.findings),
        needed_bytes=question.needed_bytes,
        target_bytes=target_bytes,
        chosen=chosen,
        suggested_command=command_for(chosen, catalog=question.catalog, machine=question.machine)
        or look_at_openers(watched.deleted, machine=question.machine),
        unclaimed=tuple((posixpath.join(top, name), size) for name, size in watched.findings.unclaimed if size),
        problems=tuple(problems),
    )


def _top(host: FirstAidHost, question: Question) -> tuple[bytes, bytes]:
    """Return the folder to look at, links followed, and the path as it was given. On another machine no link is."""
    given, link = host.resolve(question.path)
    if question.machine and link is not None:
        raise UsageError(
            f"{display_path(given)} is reached through the link {display_path(link)} on {question.machine}",
            remedy="give the path without links",
        )
    top = given if question.machine else os.path.realpath(given)
    if not (_is_folder(host, top) if question.machine else os.path.isdir(top)):
        raise UsageError(
            f"{display_path(given)} is no folder", remedy="name the mount point, or a folder, of the disk that fills up"
        )
    return top, given


def _is_folder(host: FirstAidHost, path: bytes) -> bool:
    return not is_file(next(iter(host.walk(path))))


def _writing(
    watched: Watched, usage: VolumeUsage, *, available_bytes: int, now: datetime
) -> tuple[tuple[WriterSeen, ...], Filling]:
    if watched.activity is None:
        return (), Filling(bytes_per_second=None, full_at=None, watched_seconds=0.0)
    writers = writers_of(watched.activity)
    filling = filling_of(
        watched.activity,
        writers,
        filesystem_type=usage.filesystem_type,
        available_bytes=available_bytes,
        now=now,
    )
    return writers, filling


def _coverage(top: bytes, findings: Findings) -> Coverage:
    stopped_in = posixpath.join(top, findings.stopped_in) if findings.stopped_in else top
    return Coverage(
        entries=findings.entries,
        seen_bytes=findings.seen_bytes,
        complete=findings.complete,
        stopped_in=b"" if findings.complete else stopped_in,
        unreached=tuple(posixpath.join(top, name) for name in findings.unreached),
    )


def _blindness(watched: Watched) -> tuple[str, ...]:
    """Say whose processes could not be looked at: they may write and hold unseen."""
    uses, activity = watched.uses, watched.activity
    denied = max(uses.processes_denied if uses else 0, activity.processes_denied if activity else 0)
    unseen = (
        f"{counted(denied, 'process', 'processes')} of other users could not be looked at: "
        "what they write or hold is not named here",
    )
    return (*(unseen if denied else ()), *(uses.problems if uses else ()))
