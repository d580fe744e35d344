"""`doctor` on every machine: looking at several at once, repairing one after the other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from artifactctl.cli.policy_choice import policy_if_readable
from artifactctl.cli.reclaiming import workplace_of
from artifactctl.cli.restoring import confirm_catalog, confirm_lost
from artifactctl.cli.which_machine import every_machine_meant
from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.hosts.protocol import Host
    from artifactctl.report.doctor import Finding


def examine_everything(
    wiring: Wiring, hosts: Sequence[str], *, repair: bool
) -> "tuple[tuple[Finding, ...], tuple[str, ...]]":
    """Return (what is not as it should be, what was repaired); a machine that does not answer is a finding."""
    from artifactctl.reclaim import examining

    policy = policy_if_readable(wiring)
    catalog = wiring.catalog
    machines = every_machine_meant(wiring, hosts)
    repaired: list[str] = []

    def examine(host: "Host") -> "tuple[Finding, ...]":
        work = workplace_of(wiring, host=host, policy=policy)
        if repair:
            repaired.extend(confirm_catalog(wiring, work))
            repaired.extend(examining.repair(work))
            repaired.extend(confirm_lost(wiring, work))
        return examining.examine_machine(work)

    answers = wiring.fleet.one_by_one(machines, examine) if repair else wiring.fleet.each(machines, examine)
    findings: list[Finding] = []
    for answer in answers:
        if answer.failure is None:
            findings += answer.value
        elif answer.machine is None:
            raise answer.failure
        else:
            findings += examining.examine_silence(catalog, answer.machine, answer.failure)
    return (*examining.examine_catalog(catalog, policy, now=wiring.now()), *findings), tuple(repaired)
