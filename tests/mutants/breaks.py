"""The list of deliberate breaks as values."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("breaks.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """One change to the program that loses something it must keep; `tests` are names of pytest that must fail then."""

    name: str
    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def applied_to(self, text: str) -> str:
        """Return the file's text with the break in it; ValueError unless `before` stands there exactly once."""
        found = text.count(self.before)
        if found != 1:
            raise ValueError(f"{self.name}: its text stands {found} times in {self.file}, not once")
        return text.replace(self.before, self.after)


def known_breaks() -> tuple[Break, ...]:
    """Return every break of the list."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return tuple(Break(name=name, **{**entry, "tests": tuple(entry["tests"])}) for name, entry in listed.items())
