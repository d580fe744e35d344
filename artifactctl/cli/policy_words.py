"""The policy and the catalog that a command line means: what it names, else what is in force."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from artifactctl.catalog import Reading
    from artifactctl.cli.wiring import Wiring
    from artifactctl.configuration.policy_files import PolicyText
    from artifactctl.policy.differing import Candidate
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


def explaining_policy(wiring: "Wiring", words: Sequence[str]) -> "Policy":
    """Return the policy that a run with `--policy` and these words would work under; says what counts beside them."""
    from artifactctl.cli.policy_choice import policy_for, texts_named
    from artifactctl.configuration.policy_files import meaning_of
    from artifactctl.policy.edits import additions
    from artifactctl.report.policy_additions import HEADING, spell_additions

    named = texts_named(wiring, [os.fsencode(word) for word in words])
    policy = policy_for(wiring, named)
    if not words:
        named_or_in_force(wiring, ())
    if named and (added := additions(meaning_of(named), policy)):
        wiring.output.note(f"{HEADING}: {spell_additions(added)}")
    return policy


def candidates(wiring: "Wiring", words: tuple[str, str], *, exported: bool) -> "tuple[Candidate, Candidate]":
    """Return the policies that two words name (a file, a folder, `git:REV:PATH`), with what is configured beside them.

    `exported`: they are asked of an exported catalog, which need not be of this place: with no configuration here, only
    what is in the files counts.
    """
    from artifactctl.cli.policy_choice import footing_under
    from artifactctl.configuration.policy_files import policy_texts
    from artifactctl.policy.differing import Candidate
    from artifactctl.policy.reading import load_policy

    here = wiring.surroundings.working_directory
    old, new = (load_policy(policy_texts((word,), working_directory=here)) for word in words)
    footing = footing_under(wiring, words, with_shipped_default=not exported)
    return (
        Candidate(written=old, standing=footing.under(old)),
        Candidate(written=new, standing=footing.under(new)),
    )


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
