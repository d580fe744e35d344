"""How the probe is asked: in this process, or through an agent on another machine."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from artifactctl.hosts.probe.calls import CALLS

if TYPE_CHECKING:
    from artifactctl.hosts.probe.session import Session


class Calls(Protocol):
    """Asks by the names in `probe.calls.CALLS`.

    Raises what the probe raises (OSError, `ProbeFailure`), and `Unanswered` when no answer came.
    """

    def ask(
        self,
        name: str,
        *arguments: Any,
        progress: Callable[..., None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        **options: Any,
    ) -> Any:
        """Return the one answer."""
        ...

    def stream(self, name: str, *arguments: Any) -> Iterator[Any]:
        """Yield the items of the answer as they come; closing the iterator ends the work."""
        ...


class Unanswered(Exception):
    """No answer came. `was_asked` false: the question did not go out, so nothing can have been done."""

    def __init__(self, machine: str, reason: str, *, was_asked: bool) -> None:
        super().__init__(f"{machine}: {reason}")
        self.machine = machine
        self.reason = reason
        self.was_asked = was_asked


class InProcess:
    """The probe of this process; nothing of it is imported before the first question."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def ask(
        self,
        name: str,
        *arguments: Any,
        progress: Callable[..., None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        **options: Any,
    ) -> Any:
        """Return the one answer."""
        return self._opened().run(name, arguments, options, {"progress": progress, "should_stop": should_stop})

    def stream(self, name: str, *arguments: Any) -> Iterator[Any]:
        """Yield the items of the answer as the probe finds them."""
        assert CALLS[name].streams
        items: Iterator[Any] = self._opened().run(name, arguments, {}, {})
        return items

    def _opened(self) -> "Session":
        if self._session is None:
            from artifactctl.hosts.probe.session import Session

            self._session = Session()
        return self._session
