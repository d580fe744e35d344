"""`root`: the folders below which artifactctl may act."""

from typing import TYPE_CHECKING

import click

from artifactctl.cli.options import PLACE
from artifactctl.cli.shared_options import Group, always
from artifactctl.cli.which_machine import host_of_root, host_option, spot_of
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError

if TYPE_CHECKING:
    from artifactctl.domain.artifacts import Root
    from artifactctl.domain.attestation import Attestation

CLIENTS = "MACHINE[:PATH],..."


@click.group(cls=Group)
def root() -> None:
    """Say below which folders artifactctl may act."""


@root.command("add", changes=always)
@click.argument("path", type=PLACE, metavar="PATH|HOST:PATH")
@host_option
@click.option("--name", default="", help="What to call it (default: the folder's name).")
@click.option("--sole-clients", metavar=CLIENTS, help="The only machines that have files open there, with this one.")
@click.option("--attest", type=click.Choice(["lease"]), help="Everybody who uses the volume takes leases.")
@pass_wiring
def add(wiring: Wiring, path: str, on: str, name: str, sole_clients: str | None, attest: str | None) -> None:
    """Manage a folder: a marker file in it carries its id.

    One that other machines may mount (NFS, Lustre, CephFS, FUSE) is read-only until --sole-clients or --attest says who
    does: nothing is written there, and nothing below can be removed. `root attest` says it later.

    Any folder but system folders, a home directory itself, one that overlaps another root, or one behind a link.
    """
    from artifactctl.domain.text import shown_path
    from artifactctl.inventory.homes import homes_of
    from artifactctl.inventory.roots import add_root
    from artifactctl.report.inventory import root_payload

    attestation = _stated(sole_clients, lease=attest == "lease")
    host, folder = spot_of(wiring, path, on=on)
    added = add_root(
        host,
        wiring.catalog,
        folder,
        now=wiring.now(),
        actor=wiring.actor,
        name=name,
        attestation=attestation,
        homes=homes_of(host),
    )
    machine = host.identify()
    wiring.output.answer(
        "root",
        payload=lambda: root_payload(added, host=machine.hostname),
        text=lambda: [
            f"{shown_path(machine.elsewhere, added.path)} is managed as `{added.name}` ({added.filesystem_type})"
        ],
    )
    if not added.is_marked:
        wiring.output.hint(
            f"other machines may mount it, so it is read-only until `root attest {added.name}` says which do"
        )
    wiring.output.hint(f"`artifactctl scan {added.name}` finds what is there")


@root.command("attest", reasoned=True, changes=always)
@click.argument("name")
@click.option("--sole-clients", metavar=CLIENTS, help="The only machines that have files open there, with this one.")
@click.option("--lease", is_flag=True, help="Everybody who uses the volume takes leases.")
@click.option("--withdraw", is_flag=True, help="Take back what was said.")
@pass_wiring
def attest(wiring: Wiring, name: str, sole_clients: str | None, *, lease: bool, withdraw: bool) -> None:
    """Say who else has files open on a volume that several machines mount; it goes on record.

    Nothing there may be set aside before. With --sole-clients every machine named is asked who uses what, and must be
    clear; MACHINE:PATH says where it sees the same folder. With --lease nobody is asked: it rests on everybody taking
    leases (`artifactctl lease run`, flock). A purge needs every answer again, a day after that. What is said here takes
    the place of what was said before.
    """
    from artifactctl.inventory.attesting import attest_root
    from artifactctl.report.inventory import root_payload

    stated = _stated(sole_clients, lease=lease)
    if withdraw == bool(stated.text):
        raise UsageError("say who uses the volume", remedy="give one of --sole-clients, --lease and --withdraw")
    reason = wiring.choices.reason or ""
    host = host_of_root(wiring, name)
    changed = attest_root(host, wiring.catalog, name, stated, acting=wiring.acting_on(host), reason=reason)
    wiring.output.answer("root", payload=lambda: root_payload(changed), text=lambda: [_told(changed)])


def _stated(sole_clients: str | None, *, lease: bool) -> "Attestation":
    from artifactctl.domain.attestation import Attestation, Regime, clients_from

    if sole_clients and lease:
        raise UsageError("leases and sole clients are different statements", remedy="give one of them")
    if sole_clients:
        return Attestation(regime=Regime.SOLE_CLIENTS, clients=clients_from(sole_clients))
    return Attestation(regime=Regime.LEASE if lease else Regime.NOTHING)


def _told(root: "Root") -> str:
    from artifactctl.domain.attestation import Attestation, in_words

    if not root.is_marked:
        return f"nothing was stated about who uses `{root.name}`: it is read-only"
    if not root.attestation:
        return f"nothing is stated any more about who else uses `{root.name}`"
    return f"on record for `{root.name}`: besides this machine's processes, files there are opened by " + in_words(
        Attestation.from_text(root.attestation)
    )


@root.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List the managed folders."""
    from artifactctl.inventory.roots import list_roots
    from artifactctl.report.inventory import root_payload, root_table

    roots = list_roots(wiring.catalog)
    with wiring.catalog.reading() as reading:
        hosts = {known.host_id: known for known in reading.hosts()}
    elsewhere = {number: known.name for number, known in hosts.items() if known.address}
    wiring.output.answer(
        "roots",
        payload=lambda: {"roots": [root_payload(each, host=hosts[each.host_id].name) for each in roots]},
        text=lambda: [root_table(roots, elsewhere=elsewhere)],
    )


@root.command("forget", changes=always)
@click.argument("name")
@click.option("--last-copies", is_flag=True, help="Also when a removal relied on a copy that lies there.")
@pass_wiring
def forget(wiring: Wiring, name: str, *, last_copies: bool) -> None:
    """Stop managing a folder; nothing on disk changes, and what is known of it stays known.

    What lies there counts as nobody's copy from then on. Where the last copy of something lies there, and other copies
    (or what it replaced, or was built from it) were removed since it is there, --yes alone does not do it.
    """
    from artifactctl.inventory.forgetting import forget_root
    from artifactctl.report.inventory import forgotten_payload

    giving_up = _given_up(wiring, name, agreed=last_copies)
    wiring.dialogue.confirm(f"Stop managing `{name}`?")
    gone, last = forget_root(wiring.catalog, name, now=wiring.now(), actor=wiring.actor, giving_up=giving_up)
    wiring.output.answer(
        "root",
        payload=lambda: forgotten_payload(gone, {copy.name: copy.allocated_bytes for copy in last}),
        text=lambda: [f"`{gone.name}` is not managed any more"],
    )


def _given_up(wiring: Wiring, name: str, *, agreed: bool) -> tuple[str, ...]:
    """Tell what has its last copy below the root; return what a person gives up of what removals relied on."""
    from artifactctl.inventory.forgetting import last_copies, told_of

    with wiring.catalog.reading() as reading:
        last = last_copies(reading, name)
    if last:
        wiring.output.warning(f"{told_of(last, name)}; it counts for no removal any more")
    relied_on = [copy for copy in last if copy.relied_on]
    if relied_on and not agreed:
        wiring.dialogue.typed(
            f"A removal relied on what lies there: {told_of(relied_on, name)}.",
            name,
            yes_counts=False,
            otherwise="copy them elsewhere first, or add --last-copies",
        )
    return tuple(copy.name for copy in relied_on)
