"""`host`: other machines, reached over ssh."""

import click

from artifactctl.cli.options import HOST, NAME
from artifactctl.cli.shared_options import Group, always
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode


@click.group(cls=Group)
def host() -> None:
    """Say which other machines there are, and how they are."""


@host.command("add", changes=always)
@click.argument("name", type=NAME)
@click.argument("address", metavar="ssh://USER@HOST[:PORT]")
@click.option(
    "--host-key", metavar="SHA256:...", default="", help="The fingerprint of its key, from somebody you trust."
)
@click.option("--sudo", is_flag=True, help="Act as root there, by `sudo -n`.")
@pass_wiring
def add(wiring: Wiring, name: str, address: str, host_key: str, sudo: bool) -> None:  # noqa: FBT001
    """Make another machine known, by the key that it proves to have.

    HOST may be an alias of ssh_config. A key that known_hosts does not pin is shown and asked for once; later
    connections accept that key only. With --sudo the user there needs, in a file made by `visudo -f
    /etc/sudoers.d/artifactctl`, the line: USER ALL=(root) NOPASSWD: ALL
    """
    from artifactctl.cli.ssh_questions import way_to_machines
    from artifactctl.inventory.introducing import add_machine
    from artifactctl.report.machines import host_payload, key_shown

    added = add_machine(
        wiring.catalog,
        name,
        address,
        fingerprint=host_key,
        uses_sudo=sudo,
        way=way_to_machines(wiring),
        acting=wiring.acting,
    )
    wiring.output.answer(
        "host",
        payload=lambda: host_payload(added.known),
        text=lambda: [f"{name} is known: {added.facts.hostname} at {address}, key {key_shown(added.known)}"],
    )
    for warning in added.warnings:
        wiring.output.warning(warning)


@host.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List the machines that the catalog knows."""
    from artifactctl.report.machines import host_payload, host_table

    with wiring.catalog.reading() as reading:
        hosts = reading.hosts()
    wiring.output.answer(
        "hosts",
        payload=lambda: {"hosts": [host_payload(each) for each in hosts]},
        text=lambda: [host_table(hosts)],
    )


@host.command("check")
@click.argument("name", type=HOST)
@pass_wiring
def check(wiring: Wiring, name: str) -> None:
    """Look whether a machine can be reached, is the one it was, and has what is needed; exits 3 when not."""
    from artifactctl.cli.ssh_questions import way_to_machines
    from artifactctl.inventory.checking_machines import check_machine
    from artifactctl.report.machines import checkup_lines, checkup_payload

    found = check_machine(wiring.catalog, name, way=way_to_machines(wiring), clock=wiring.now)
    wiring.output.answer("host-check", payload=lambda: checkup_payload(found), text=lambda: checkup_lines(found))
    if found.problems:
        raise SystemExit(ExitCode.CHECK_FAILED)


@host.command("forget")
@click.argument("name", type=HOST)
@pass_wiring
def forget(wiring: Wiring, name: str) -> None:
    """Work with a machine no more; it need not answer, and what was done there stays known.

    Refused while a root is on it. `host add` takes the same machine back.
    """
    from artifactctl.inventory.forgetting_machines import forget_machine
    from artifactctl.report.machines import host_payload

    wiring.dialogue.confirm(f"Forget the machine `{name}`?")
    gone = forget_machine(wiring.catalog, name, here=wiring.here, acting=wiring.acting)
    wiring.output.answer(
        "host", payload=lambda: host_payload(gone), text=lambda: [f"{gone.name} is not worked with any more"]
    )
