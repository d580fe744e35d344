"""Which machines a command works on: by `HOST:PATH`, by root, by artifact, by `--host`, or by the rule where none is
named (`inventory.machine_choice`); and what is said when one of several cannot be asked."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ExitCode, Refused, UsageError
from artifactctl.domain.places import split_host

if TYPE_CHECKING:
    from artifactctl.capacity.verdict import CapacityPlan
    from artifactctl.catalog import Reading
    from artifactctl.domain.artifacts import Root
    from artifactctl.domain.plans import ReclaimPlan
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.fleet import Answer
    from artifactctl.inventory.machine_choice import Machines
    from artifactctl.inventory.places import Place

Found = TypeVar("Found")

hosts_option = click.option("--host", "hosts", multiple=True, metavar="NAME", help="Only this machine; repeatable.")
host_option = click.option("--host", "on", default="", metavar="NAME", help="The machine that is meant.")


def spot_of(wiring: Wiring, word: str, *, on: str = "") -> "tuple[Host, bytes]":
    """Return the machine, connected, and the path that a word means; `on` is what `--host` said."""
    place = place_meant(wiring, word, on=on)
    return wiring.fleet.reach(place.machine), place.path


def place_meant(wiring: Wiring, word: str, *, on: str = "") -> "Place":
    """Return the place that a word means; the catalog is asked for machines only where one is named."""
    from artifactctl.inventory.places import place_of

    named, path = split_host(word)
    if on and named and named != on:
        raise UsageError(f"`{word}` is on {named}, and --host says {on}", remedy="say it once")
    if not (on or named):
        return place_of(None, word, here=wiring.here)
    with wiring.reading_if_any() as reading:
        return place_of(reading, f"{on or named}:{path}", here=wiring.here)


def host_of_root(wiring: Wiring, name: str) -> "Host":
    """Return the machine on which a root lies, connected; this one for a name that is no root's."""
    with wiring.catalog.reading() as reading:
        root = reading.root(name)
        return wiring.fleet.reach(None) if root is None else wiring.fleet.of_root(reading, root)


def host_of_volume(wiring: Wiring, reading: "Reading | None", word: str) -> "Host":
    """Return the machine of what `--volume` names: a root's, that of `HOST:PATH` or of a known filesystem; else this.

    UsageError where a filesystem is known on several other machines.
    """
    from artifactctl.inventory.machine_choice import machines_of
    from artifactctl.inventory.places import place_of

    if reading is not None and not split_host(word)[0]:
        named = reading.root(word)
        roots = (named,) if named is not None else reading.roots_on(word)
        machines = machines_of(reading, roots, here=wiring.here)
        if machines and None not in machines:
            if len(machines) > 1:
                names = ", ".join(wiring.fleet.name_of(machine) for machine in machines)
                raise UsageError(f"the filesystem {word} is on several machines: {names}", remedy="name HOST:PATH")
            return wiring.fleet.reach(machines[0])
    return wiring.fleet.reach(place_of(reading, word, here=wiring.here).machine)


def host_of_capacity_plan(wiring: Wiring, file: bytes) -> "Host":
    """Return the machine for whose volume a saved capacity plan was made."""
    from artifactctl.inventory.lacking import read_capacity_plan

    return host_of_plan(wiring, read_capacity_plan(file))


def host_of_plan(wiring: Wiring, plan: "CapacityPlan | ReclaimPlan") -> "Host":
    """Return the machine that a plan was made for, this one where it was made on its machine itself.

    Machine id and host key both have to be the plan's: that another machine has one of them, or the same paths, means
    nothing. Refused when the catalog knows no such machine.
    """
    machine_id, host_key = plan.machine_id, plan.host_key
    if not host_key:
        return wiring.fleet.reach(None)
    from artifactctl.domain.plans import ReclaimPlan

    with wiring.catalog.reading() as reading:
        same = [known for known in reading.hosts() if (known.machine_id, known.host_key) == (machine_id, host_key)]
    if not same:
        name = plan.hostname if isinstance(plan, ReclaimPlan) else plan.host
        raise Refused(
            f"the plan was made for the machine {name} (machine id {machine_id}, host key {host_key}), and this "
            f"catalog knows none like that, but {_machines_known(wiring)}",
            remedy="`artifactctl host ls` lists the machines; make a new plan for the one you mean",
        )
    return wiring.fleet.reach(same[0])


def _machines_known(wiring: Wiring) -> str:
    here = wiring.identity
    with wiring.catalog.reading() as reading:
        others = [f"{known.name} (machine id {known.machine_id})" for known in reading.hosts() if known.address]
    return ", ".join([f"this one, {here.hostname} (machine id {here.machine_id})", *others])


def every_machine_meant(wiring: Wiring, hosts: Sequence[str]) -> "Machines":
    """Return the machines that a command which looks at everything means."""
    from artifactctl.inventory.machine_choice import every_machine

    with wiring.reading_if_any() as reading:
        return every_machine(reading, here=wiring.here, only=hosts)


def machines_of_roots(wiring: Wiring, roots: "Iterable[Root]") -> "Machines":
    """Return the machines on which roots lie."""
    from artifactctl.inventory.machine_choice import machines_of

    with wiring.catalog.reading() as reading:
        return machines_of(reading, roots, here=wiring.here)


def one_machine(wiring: Wiring, machines: "Machines", *, what: str) -> "Host":
    """Return the only machine among those of what was named, connected; UsageError when there are more."""
    if len(machines) > 1:
        names = ", ".join(wiring.fleet.name_of(machine) for machine in machines)
        raise UsageError(f"{what} lie on {len(machines)} machines: {names}", remedy="give one command for each machine")
    return wiring.fleet.reach(machines[0])


class Incomplete:
    """Keeps what machines answered apart from which could not be asked; says so on stderr, in JSON and by exit code."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self.missing: list[tuple[str, str]] = []

    def answers(self, answers: "Iterable[Answer[Found]]", *, of: int) -> "Iterator[Found]":
        """Yield what those machines said that answered; the failure of the only one is raised."""
        for answer in answers:
            if answer.failure is None:
                yield answer.value
            elif of == 1:
                raise answer.failure
            else:
                self.missing.append((answer.name, answer.failure.message))
                self._wiring.output.warning(f"{answer.name} is left out: {answer.failure.message}")

    @property
    def payload(self) -> dict[str, Any]:
        """The field that scripts read."""
        return {"unreachable": [{"host": name, "problem": problem} for name, problem in self.missing]}

    def exit_code(self, code: ExitCode = ExitCode.DONE) -> ExitCode:
        """Return the code to end with: an answer that lacks a machine is never a plain success."""
        return ExitCode.PARTLY_DONE if self.missing and code is ExitCode.DONE else code
