"""Working on things in quarantine, machine by machine, as one operation for the person who asked."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from artifactctl.cli.interrupt import stopping
from artifactctl.cli.reclaiming import answer_operation, workplace_of
from artifactctl.cli.which_machine import machines_of_roots
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ArtifactctlError, Refused

if TYPE_CHECKING:
    from artifactctl.domain.results import OperationResult
    from artifactctl.inventory.machine_choice import Machines
    from artifactctl.policy.ruleset import Policy
    from artifactctl.reclaim.quarantined import Quarantined
    from artifactctl.reclaim.workplace import Workplace

Items = "tuple[Quarantined, ...]"


def by_machine(wiring: Wiring, items: "Sequence[Quarantined]") -> "dict[Machines, tuple[Quarantined, ...]]":
    """Return the items by their machine (a tuple of one)."""
    found: dict[Machines, tuple[Quarantined, ...]] = {}
    for item in items:
        machine = machines_of_roots(wiring, (item.replica.root,))
        found[machine] = (*found.get(machine, ()), item)
    return found


def carry_out_on_each(
    wiring: Wiring,
    items: "Sequence[Quarantined]",
    work: "Callable[[Workplace, tuple[Quarantined, ...]], OperationResult]",
    *,
    policy: "Policy | None" = None,
) -> None:
    """Do it on each machine, stopping cleanly on a signal; print what was done everywhere, leave with its exit code.

    With several machines, one that cannot be reached or refuses is a failed step of each item there, and stops nobody.
    """
    from artifactctl.reclaim.joining import joined_results, not_done

    parts = by_machine(wiring, items)
    results: list[OperationResult] = []
    with stopping() as request:
        for (machine,), mine in parts.items():
            if request():
                break
            try:
                host = wiring.fleet.reach(machine)
                results.append(work(workplace_of(wiring, host=host, should_stop=request, policy=policy), mine))
            except ArtifactctlError as failure:
                if len(parts) == 1:
                    raise
                results.append(not_done(mine, failure.message, refused=isinstance(failure, Refused)))
    answer_operation(wiring, joined_results(results, interrupted=len(results) < len(parts)))
