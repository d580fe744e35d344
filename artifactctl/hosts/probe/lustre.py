"""What bounds a writer on Lustre besides its free blocks, from the words of `lfs`: the fullest target, and quotas.

The numbers of `lfs` are in blocks of 1 KiB. Nothing on the filesystem is touched by this process itself: a client whose
server is gone hangs, and `lfs` with it, so all are asked at once and given up after `ANSWER_SECONDS`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

Wire = Dict[str, Any]
ANSWER_SECONDS = 10.0
_KIB = 1024
_QUOTA_COLUMNS = 8  # kbytes, quota, limit, grace, files, quota, limit, grace


class Quota(NamedTuple):
    """What one quota still allows; None: it does not bound that."""

    available_bytes: Optional[int]
    available_inodes: Optional[int]


def limits_of(point: bytes, path: bytes) -> List[Wire]:
    """Return the limits for this user at the mount `point`, those of the project of `path` included."""
    program = shutil.which("lfs")
    if program is None:
        return [_limit("lustre quotas and targets", detail="not known: there is no `lfs` program here")]
    user, group = os.geteuid(), os.getegid()
    told = _said(
        program,
        (
            (b"df", point),
            (b"quota", b"-u", b"%d" % user, point),
            (b"quota", b"-g", b"%d" % group, point),
            (b"project", b"-d", path),
        ),
    )
    found = _unanswered(told[:3])
    found += fullest_target(told[0] or "")
    found += _of_quota("user quota", f"user {user}", told[1])
    found += _of_quota("group quota", f"group {group}", told[2])
    project = project_of(told[3] or "")
    if project:
        (of_project,) = _said(program, ((b"quota", b"-p", b"%d" % project, point),))
        found += _of_quota("project quota", f"project {project}", of_project)
    return found


def _unanswered(told: Sequence[Optional[str]]) -> List[Wire]:
    if all(text is not None for text in told):
        return []
    return [_limit("lustre quotas and targets", detail="`lfs` did not answer")]


def _said(program: str, questions: Sequence[Tuple[bytes, ...]]) -> List[Optional[str]]:
    """Return what each `lfs` printed, None for one that did not answer in time."""
    command = os.fsencode(program)
    asked = [
        subprocess.Popen([command, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for words in questions
    ]
    deadline = time.monotonic() + ANSWER_SECONDS
    return [_answer(process, deadline) for process in asked]


def _answer(process: "subprocess.Popen[bytes]", deadline: float) -> Optional[str]:
    try:
        printed, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()  # one that sleeps in the kernel ends when its server answers
        if process.stdout is not None:
            process.stdout.close()
        return None
    return printed.decode("utf-8", "replace")


def fullest_target(text: str) -> List[Wire]:
    """Return the limit of the object target with the least space in the output of `lfs df`: a file striped over it
    stops there, whatever the sum says."""
    targets = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 6 and "[OST:" in fields[-1] and fields[3].isdigit():
            targets.append((int(fields[3]) * _KIB, fields[0]))
    if not targets:
        return []
    available, name = min(targets)
    return [_limit("fullest OST", available, detail=name)]


def _of_quota(name: str, whose: str, text: Optional[str]) -> List[Wire]:
    found = quota_in(text or "")
    if found is None or (found.available_bytes is None and found.available_inodes is None):
        return []
    return [_limit(name, found.available_bytes, available_inodes=found.available_inodes, detail=whose)]


def quota_in(text: str) -> Optional[Quota]:
    """Return what the output of `lfs quota -u|-g|-p ID MOUNT` says is left, None where it tells of no quota.

    Its table may break the line after a long mount point. A number is in brackets where a target did not answer, and
    bears a `*` where it is over a limit. Where there is no hard limit the soft one counts.
    """
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if line.split()[:2] == ["Filesystem", "kbytes"]]
    if not heads:
        return None
    words = [word for line in lines[heads[0] + 1 : heads[0] + 3] for word in line.split()]
    columns = words[1 : 1 + _QUOTA_COLUMNS]
    if len(columns) < _QUOTA_COLUMNS:
        return None
    numbers = [_number(columns[place]) for place in (0, 1, 2, 4, 5, 6)]
    if any(number is None for number in numbers):
        return None
    used, soft, hard, files, soft_files, hard_files = [number or 0 for number in numbers]
    return Quota(_left(used, hard or soft, _KIB), _left(files, hard_files or soft_files, 1))


def _number(word: str) -> Optional[int]:
    bare = word.rstrip("*").strip("[]").rstrip("*")
    return int(bare) if bare.isdigit() else None


def _left(used: int, most: int, unit: int) -> Optional[int]:
    return max(0, most - used) * unit if most else None


def project_of(text: str) -> int:
    """Return the project in the output of `lfs project -d PATH` (`  1234 P /path`), 0 when there is none."""
    words = text.split()
    return int(words[0]) if len(words) >= 2 and words[0].isdigit() and words[1] in ("P", "-") else 0


def _limit(
    name: str, available_bytes: Optional[int] = None, *, available_inodes: Optional[int] = None, detail: str = ""
) -> Wire:
    return {
        "name": name,
        "available_bytes": available_bytes,
        "available_inodes": available_inodes,
        "detail": detail,
    }
