"""The closest known word to one that nobody knows."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return "did you mean `x`?" for the closest of `choices`, else the sorted list of them; "" without choices."""
    known = sorted(set(choices))
    close = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"known: {', '.join(known)}" if known else ""
