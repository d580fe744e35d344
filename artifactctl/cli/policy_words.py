"""The policy and the catalog that a command line means: what it names, else what is in force."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from artifactctl.catalog import Reading
    from artifactctl.cli.wiring import Wiring
    from artifactctl.configuration.policy_files import PolicyText
    from artifactctl.policy.ruleset import Policy


def named_or_in_force(wiring: "Wiring", words: Sequence[str]) -> "tuple[PolicyText, ...]":
    """Return the files that `words` name; without words those in force, which is then said."""
    from artifactctl.configuration.policy_files import policy_texts, texts_in_force

    here = wiring.surroundings.working_directory
    if words:
        return policy_texts(words, working_directory=here)
    in_force = texts_in_force(wiring.settings, working_directory=here)
    wiring.output.note(f"the policy in force: {', '.join(name for name, _ in in_force)}")
    return in_force


def policy_named(wiring: "Wiring", word: str) -> "Policy":
    """Return the policy in a file, a folder or `git:REV:PATH`."""
    from artifactctl.configuration.policy_files import policy_texts
    from artifactctl.policy.reading import load_policy

    return load_policy(policy_texts((word,), working_directory=wiring.surroundings.working_directory))


@contextmanager
def reading_of(wiring: "Wiring", snapshot: bytes | None) -> "Iterator[tuple[Reading, datetime]]":
    """Yield the catalog as of now, or an exported one as of its export."""
    if snapshot is None:
        with wiring.catalog.reading() as reading:
            yield reading, wiring.now()
        return
    from artifactctl.inventory.snapshots import open_snapshot

    with open_snapshot(snapshot) as opened:
        yield opened.reading, opened.exported_at
