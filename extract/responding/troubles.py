"""What can go wrong with one request, by what follows from it."""

from datetime import timedelta


class Trouble(Exception):
    """One attempt came to nothing. `status` is that of HTTP, 0 where there was none.

    `lost_tokens` is how many tokens of an answer may have been paid at most, beside those of the prompt; None when the
    server cannot have begun.
    """

    def __init__(self, reason: str, *, status: int = 0, lost_tokens: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.lost_tokens = lost_tokens


class Passing(Trouble):
    """It may go well the next time; `after` is how long the server asks to wait, None when it does not say."""

    def __init__(
        self, reason: str, *, status: int = 0, lost_tokens: int | None = None, after: timedelta | None = None
    ) -> None:
        super().__init__(reason, status=status, lost_tokens=lost_tokens)
        self.after = after


class Lasting(Trouble):
    """The server refuses this prompt, and would again."""


class Barred(Trouble):
    """The server refuses whoever asks: no prompt will do better until a person changes something."""

    def __init__(self, reason: str, *, status: int, remedy: str) -> None:
        super().__init__(reason, status=status)
        self.remedy = remedy
