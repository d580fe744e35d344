"""A machine that is lost in the middle of an operation: the command ends there and says what was done before.

Nothing more is tried: what the lost step came to is written in the root's journal, and the next command that reaches
the machine asks it before anything else.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from artifactctl.domain.errors import HostUnreachable
from artifactctl.domain.results import StepResult


@contextmanager
def in_touch(steps: Sequence[StepResult]) -> Iterator[None]:
    """Add to what is raised when the machine is lost how the `steps` ended that were done by then."""
    try:
        yield
    except HostUnreachable as lost:
        done = ", ".join(f"{step.name} {step.outcome.value}" for step in steps)
        if not done:
            raise
        raise type(lost)(f"{lost.message}; before that: {done}", remedy=lost.remedy) from lost


@contextmanager
def step_named(name: str) -> Iterator[None]:
    """Name the step in which the machine was lost."""
    try:
        yield
    except HostUnreachable as lost:
        raise type(lost)(f"{name}: {lost.message}", remedy=lost.remedy) from lost
