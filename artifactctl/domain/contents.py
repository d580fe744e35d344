"""What stands at a path and who could be changing it, at one instant: what a verification can be held against."""

from dataclasses import dataclass

from artifactctl.domain.observation import HolderReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentLook:
    """One look. The digests are those of `TreeSummary`, "" when nothing is there or it was not looked at.

    `writers` lists only uses through which content can change (open for writing, mapped writable and shared); its
    leases are read leases, which the kernel grants beside readers and refuses beside writers.
    """

    path: bytes
    is_there: bool
    is_directory: bool
    fingerprint: str
    member_digest: str
    writers: HolderReport
    problems: tuple[str, ...] = ()
