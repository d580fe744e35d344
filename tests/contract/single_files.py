"""Contract: a target that is a file by itself is seen to change by whatever changes it, and not by being set aside."""

from collections.abc import Callable

import pytest

from artifactctl.domain.artifacts import Root
from artifactctl.domain.observation import TreeSummary
from tests.contract.purging import purge
from tests.contract.workshop import Scene, Workshop, scene

LONG_AGO_NS = 1_700_000_000_000_000_000


def tree_of(made: Scene) -> TreeSummary:
    tree = made.observe().tree
    assert tree is not None
    return tree


def aside(made: Scene) -> TreeSummary:
    tree = made.host.observe_quarantined(made.root, made.operation).tree
    assert tree is not None
    return tree


def old_file(workshop: Workshop) -> Scene:
    """Return a scene whose target is a file with an old mtime."""
    made = scene(workshop).single_file()
    workshop.set_modified(made.path, LONG_AGO_NS)
    return made


def overwrite(workshop: Workshop, path: bytes) -> None:
    """Write other bytes of the same number in place and put the mtime back."""
    workshop.write(path, bytes(255 - byte for byte in workshop.read(path)))
    workshop.set_modified(path, LONG_AGO_NS)


MEDDLING: dict[str, Callable[[Workshop, bytes, Root], None]] = {
    "content, with the mtime put back": lambda workshop, path, _: overwrite(workshop, path),
    "another name": lambda workshop, path, root: workshop.link(path, root.path + b"/again"),
    "permissions": lambda workshop, path, _: workshop.set_mode(path, 0o600),
}


class SingleFileContract:
    """What a look says of a target that is a file."""

    @pytest.mark.parametrize("what", MEDDLING)
    def test_a_change_that_left_size_and_mtime_is_seen(self, workshop: Workshop, what: str) -> None:
        made = old_file(workshop)
        before, content = tree_of(made), made.host.contents(made.root, made.target).fingerprint

        MEDDLING[what](workshop, made.path, made.root)

        after = tree_of(made)
        assert after.fingerprint != before.fingerprint
        assert after.changed_at > after.written_at
        assert after.written_at == before.written_at
        assert made.host.contents(made.root, made.target).fingerprint == after.fingerprint != content

    def test_it_is_in_quarantine_as_it_was_before(self, workshop: Workshop) -> None:
        made = old_file(workshop)
        before = tree_of(made)

        made.set_aside()

        assert (aside(made).fingerprint, aside(made).changed_at) == (before.fingerprint, before.changed_at)
        assert purge(made).complete

    @pytest.mark.parametrize("what", MEDDLING)
    def test_a_change_in_quarantine_is_seen(self, workshop: Workshop, what: str) -> None:
        made = old_file(workshop)
        before = tree_of(made)
        made.set_aside()

        MEDDLING[what](workshop, made.placed, made.root)

        assert aside(made).fingerprint != before.fingerprint
