"""Asking a person, and what stands in for an answer when nobody is there.

`--yes` answers a confirmation and `--reason` gives the reason. Neither ever accepts an unknown host key nor waives a
guard: such a question is asked with `typed(..., yes_counts=False)`.
"""

import sys

from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.text import printable


class Declined(Refused):
    """A person was asked and did not agree."""


class ConfirmationNeeded(UsageError):
    """A question must be answered, and there is no terminal to ask it on."""


class ReasonNeeded(UsageError):
    """A reason must be given, and there is no terminal to ask for it on."""


class Dialogue:
    """Questions on the terminal: the prompt goes to stderr, since stdout is data; the answer comes from stdin."""

    def __init__(self, *, yes: bool, reason: str | None) -> None:
        self._yes = yes
        self._reason = reason

    @property
    def has_terminal(self) -> bool:
        """Whether a person can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def can_be_answered(self) -> bool:
        """Whether a confirmation will be given, by a person or by `--yes`."""
        return self._yes or self.has_terminal

    def confirm(self, question: str) -> None:
        """Return when the answer is yes; `Declined` when it is not."""
        if self._yes:
            return
        self._need_terminal(question, "add --yes")
        if self._ask(f"{question} [y/N] ").lower() not in ("y", "yes"):
            raise Declined("not confirmed; nothing was changed")

    def agrees(self, question: str) -> bool:
        """Return whether a person says yes to an offer; `--yes` takes up no offer, and nobody there means no."""
        return self.has_terminal and not self._yes and self._ask(f"{question} [y/N] ").lower() in ("y", "yes")

    def typed(self, question: str, word: str, *, yes_counts: bool = True, otherwise: str = "add --yes") -> None:
        """Return when the person types `word`; `Declined` when anything else. `otherwise`: what scripts write."""
        if self._yes and yes_counts:
            return
        self._need_terminal(question, otherwise)
        answer = self._ask(f"{question}\nType {word} to go on: ")
        if " ".join(answer.split()).lower() != word.lower():
            raise Declined(f"not confirmed (`{printable(answer)}` is not `{word}`); nothing was changed")

    def reason(self, question: str = "Why?", *, then_confirmed: bool = False) -> str:
        """Return the reason given with `--reason` or typed; an empty one is none.

        `then_confirmed`: a confirmation is asked after it, so that scripts hear of both at once.
        """
        given = (self._reason or "").strip()
        if given:
            return given
        if self._reason is not None:
            raise UsageError(
                "the reason given with --reason is empty", remedy='write why, as in --reason "re-extracted"'
            )
        if not self.has_terminal:
            also = " and --yes, since a confirmation follows" if then_confirmed and not self._yes else ""
            raise ReasonNeeded(
                "a reason is needed and there is no terminal to ask for it on", remedy=f"add --reason TEXT{also}"
            )
        answer = self._ask(f"{question} ").strip()
        if not answer:
            raise Declined("no reason given; nothing was changed")
        return answer

    def _need_terminal(self, question: str, otherwise: str) -> None:
        if not self.has_terminal:
            raise ConfirmationNeeded(
                f"a confirmation is needed and there is no terminal to ask on: {question.strip()}", remedy=otherwise
            )

    def _ask(self, prompt: str) -> str:
        """Return the line typed; the end of input counts as no answer."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
        return line.strip()
