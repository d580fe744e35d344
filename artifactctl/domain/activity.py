"""What a machine is writing, measured over a few seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingFile:
    """A file open for writing. `path` is its name as its process sees it; `grown_bytes` on disk during the sample."""

    path: bytes
    size_bytes: int
    grown_bytes: int
    was_open_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A process that wrote. `written_bytes` went to any device; `writes_here`: it has a file open on this volume."""

    pid: int
    command: str
    written_bytes: int
    writes_here: bool
    files: tuple[GrowingFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeActivity:
    """Writers to a volume during `seconds`; `processes_denied` could not be looked at."""

    seconds: float
    available_before_bytes: int
    available_after_bytes: int
    processes_denied: int
    writers: tuple[Writer, ...]

    @property
    def filling_bytes_per_second(self) -> float:
        """How fast the volume lost available bytes; negative while it gains some."""
        return (self.available_before_bytes - self.available_after_bytes) / self.seconds
