"""The table of the matrix: commands that are killed, the filesystems they run on, and the calls they are killed at."""

from dataclasses import dataclass

from tests.bench import system_calls
from tests.bench.volumes import FilesystemKind
from tests.bench.words import words

KINDS = (FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS)

FLUSHES = words("fsync fdatasync sync syncfs sync_file_range")
CALLS = sorted(
    FLUSHES.union(
        system_calls.NAMES,
        system_calls.BOTH_NAMES,
        system_calls.SECOND_NAME,
        system_calls.TARGETS,
        system_calls.DESCRIPTORS,
        system_calls.SECOND_DESCRIPTOR,
    )
)
"""The command dies before the call begins. What an `open` made is there at the next of these calls: none is missed."""

RECLAIM = "--yes --reason test --waive recoverable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A command to kill. `{a}`, `{b}` and `{c}` are artifacts, `{at}` the path of the first, `{plan}` a new file.

    `before` are the commands that lead up to it. `older_schema` is the revision that the catalog is taken back to.
    `may_remove`: a purge may have begun when it dies. `copies`: it makes another copy, and touches no other.
    """

    command: str
    before: tuple[str, ...] = ()
    artifacts: int = 1
    may_remove: bool = False
    copies: bool = False
    older_schema: str = ""
    recovery: str = "doctor --repair"


ACTS = {
    "quarantine": Act(command=f"reclaim {{a}} {RECLAIM}"),
    "restore": Act(command="quarantine restore {a}", before=(f"reclaim {{a}} {RECLAIM}",)),
    "purge": Act(
        command="quarantine purge {a} --yes",
        before=(f"reclaim {{a}} {RECLAIM}",),
        may_remove=True,
    ),
    "quarantine and purge": Act(command=f"reclaim {{a}} --purge-now {RECLAIM}", may_remove=True),
    "apply three steps": Act(
        command="apply {plan} --yes --reason test",
        before=("reclaim {a} {b} {c} --waive recoverable --reason test --out {plan}",),
        artifacts=3,
    ),
    "archive": Act(command="archive {a} --to far", copies=True),
    "unarchive": Act(
        command="unarchive {a}",
        before=("archive {a} --to far", f"reclaim {{at}} --purge-now {RECLAIM}"),
        copies=True,
    ),
    "catalog upgrade": Act(command="init --yes", older_schema="0008", recovery="init --yes"),
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cell:
    """One command on one filesystem; its points are its changing calls."""

    act: str
    kind: FilesystemKind

    def __str__(self) -> str:
        """Return the name under which the figures keep it."""
        return f"{self.act} on {self.kind}"


CELLS = tuple(Cell(act=act, kind=kind) for act in ACTS for kind in KINDS)
