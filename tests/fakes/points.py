"""The calls of `Host` methods as named points: what was called, and what happens around it.

"Between the rename and the look" is `points.before_call("observe_quarantined", ...)`; "between the journal and the
catalog" is `points.after_call("set_aside", ...)`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

Race = Callable[[], None]


@dataclass(slots=True)
class Points:
    """`calls` lists the method names in order. A race or failure happens once, at the next call of its method."""

    calls: list[str] = field(default_factory=list)
    _before: dict[str, list[Race]] = field(default_factory=dict)
    _after: dict[str, list[Race]] = field(default_factory=dict)
    _failures: dict[str, list[Exception]] = field(default_factory=dict)

    def before_call(self, method: str, change: Race) -> None:
        """Let `change` happen right before the next call of the method."""
        self._before.setdefault(method, []).append(change)

    def after_call(self, method: str, change: Race) -> None:
        """Let `change` happen when the next call of the method has done its work, before the caller learns of it."""
        self._after.setdefault(method, []).append(change)

    def fail_call(self, method: str, error: Exception) -> None:
        """Let the next call of the method raise `error` without doing anything."""
        self._failures.setdefault(method, []).append(error)

    def before(self, method: str) -> None:
        """Called by the machine: the method begins."""
        self.calls.append(method)
        for change in self._before.pop(method, []):
            change()
        failures = self._failures.get(method)
        if failures:
            raise failures.pop(0)

    def after(self, method: str) -> None:
        """Called by the machine: the method has done its work."""
        for change in self._after.pop(method, []):
            change()

    def forget(self) -> None:
        """Call off every race and failure that has not come yet."""
        for planned in (self._before, self._after, self._failures):
            planned.clear()
