"""What an operation did: how each step ended, and what the volume says."""

from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.errors import ExitCode
from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.verdicts import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """How one step ended. `measured_freed_bytes` is None only where measuring failed."""

    name: str
    outcome: StepOutcome
    operation: str
    path: bytes
    evidence: tuple[Evidence, ...] = ()
    detail: str = ""
    expected_freed_bytes: int = 0
    measured_freed_bytes: int | None = 0
    allocated_bytes: int = 0
    grace_until: datetime | None = None

    @property
    def changed_something(self) -> bool:
        """Whether the world is different now."""
        return self.outcome in (StepOutcome.QUARANTINED, StepOutcome.PURGED, StepOutcome.RESTORED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why measured and expected bytes differ. `bytes_` is None where the amount cannot be told."""

    text: str
    bytes_: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationResult:
    """What one command did: its steps, and the volume before and after."""

    operation: str
    steps: tuple[StepResult, ...]
    before: VolumeUsage | None
    after: VolumeUsage | None
    difference_bytes: int | None
    explanations: tuple[Explanation, ...] = ()
    unexplained: bool = False
    interrupted: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """0 when all was done, 4 when all was refused, 5 in between or for a rest that nothing explains."""
        done = [step for step in self.steps if step.changed_something]
        harmless = [step for step in self.steps if step.outcome is StepOutcome.ALREADY_ABSENT]
        if len(done) + len(harmless) == len(self.steps) and not self.interrupted:
            return ExitCode.PARTLY_DONE if self.unexplained else ExitCode.DONE
        if done or any(step.outcome in _TOUCHED for step in self.steps):
            return ExitCode.PARTLY_DONE
        return ExitCode.INTERRUPTED if self.interrupted and not self.steps else ExitCode.REFUSED


_TOUCHED = frozenset({StepOutcome.BUSY_RESTORED, StepOutcome.BUSY_KEPT, StepOutcome.FAILED})
