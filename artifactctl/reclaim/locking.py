"""Holding the roots an operation works in, and leaving behind what a rebuilt catalog needs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.plans import canonical_json
from artifactctl.hosts.protocol import RootLock
from artifactctl.inventory.fencing import Changer, right_to_change
from artifactctl.reclaim.quarantined import in_quarantine
from artifactctl.reclaim.recovering import recover_root
from artifactctl.reclaim.workplace import Workplace


@contextmanager
def locked_roots(
    workplace: Workplace, roots: Sequence[Root], *, leaving: frozenset[str] = frozenset()
) -> Iterator[dict[str, RootLock]]:
    """Hold the right to change every root, in the order of their ids, and finish what an earlier crash left in them.

    Begun purges among the operations `leaving` are left to the caller.
    """
    locks: dict[str, RootLock] = {}
    with ExitStack() as stack:
        for root in sorted(roots, key=lambda item: item.root_id):
            locks[root.root_id] = stack.enter_context(right_to_change(_changer(workplace), root))
        for root in roots:
            recover_root(workplace, root, lock=locks[root.root_id], leaving=leaving)
        yield locks


def _changer(workplace: Workplace) -> Changer:
    return Changer(
        host=workplace.host,
        catalog=workplace.catalog,
        actor=workplace.actor,
        clock=workplace.clock,
        say=workplace.say,
    )


def end_what_failed(workplace: Workplace, roots: Sequence[Root], locks: dict[str, RootLock]) -> None:
    """Recover the roots after a step that failed half-way; a machine that still fails is left to the next command."""
    for root in roots:
        try:
            if locks[root.root_id].still_held():
                recover_root(workplace, root, lock=locks[root.root_id])
                continue
            workplace.host.now()  # where it does not answer, the lock went with the connection
            workplace.say(
                f"the root `{root.name}` is no longer ours: whoever took it over ends what is unfinished there"
            )
        except HostFailure as error:
            workplace.say(f"{error.message}; `artifactctl doctor` says what is unfinished")


def mirror_operations(workplace: Workplace, roots: Sequence[Root]) -> None:
    """Write the list of live operations into each root, so that a rebuilt catalog does not forget them."""
    with workplace.catalog.reading() as reading:
        items = in_quarantine(reading)
    for root in roots:
        mine = [item for item in items if item.replica.root.root_id == root.root_id]
        content = canonical_json(
            {
                "schema": "artifactctl.operations/1",
                "catalog_id": workplace.catalog.lineage_id,
                "operations": [
                    {
                        "operation": item.operation.operation_id,
                        "name": item.artifact.name,
                        "kind": item.artifact.kind.value,
                        "waivers": list(item.operation.waivers),
                        "reason": item.operation.reason,
                    }
                    for item in mine
                ],
            }
        )
        try:
            workplace.host.mirror(root.path, "operations", content.encode("ascii"))
        except HostFailure as error:
            workplace.say(f"the list of operations in `{root.name}` could not be refreshed: {error.message}")
