"""`root`: the folders below which artifactctl may act."""

import click

from artifactctl.cli.options import PLACE
from artifactctl.cli.shared_options import Group
from artifactctl.cli.which_machine import host_option, spot_of
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError


@click.group(cls=Group)
def root() -> None:
    """Say below which folders artifactctl may act."""


@root.command("add")
@click.argument("path", type=PLACE, metavar="PATH|HOST:PATH")
@host_option
@click.option("--name", default="", help="What to call it (default: the folder's name).")
@click.option("--sole-clients", metavar="HOST,...", help="The only machines that have files open there.")
@click.option("--attest", type=click.Choice(["lease"]), help="Everybody who reads there takes a lease.")
@pass_wiring
def add(wiring: Wiring, path: str, on: str, name: str, sole_clients: str | None, attest: str | None) -> None:
    """Manage a folder: a marker file in it carries its id.

    Any folder but system folders, a home directory itself, one that overlaps another root, or one behind a link.
    """
    from artifactctl.domain.text import shown_path
    from artifactctl.inventory.homes import homes_of
    from artifactctl.inventory.roots import add_root
    from artifactctl.report.inventory import root_payload

    if sole_clients and attest:
        raise UsageError("--sole-clients and --attest say different things", remedy="give one of them")
    attestation = f"sole-clients:{sole_clients}" if sole_clients else attest or ""
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
    wiring.output.hint(f"`artifactctl scan {added.name}` finds what is there")


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


@root.command("forget")
@click.argument("name")
@pass_wiring
def forget(wiring: Wiring, name: str) -> None:
    """Stop managing a folder; nothing on disk changes, and what is known of it stays known."""
    from artifactctl.inventory.roots import forget_root
    from artifactctl.report.inventory import root_payload

    wiring.dialogue.confirm(f"Stop managing `{name}`?")
    gone = forget_root(wiring.catalog, name, now=wiring.now(), actor=wiring.actor)
    wiring.output.answer(
        "root", payload=lambda: root_payload(gone), text=lambda: [f"`{gone.name}` is not managed any more"]
    )
