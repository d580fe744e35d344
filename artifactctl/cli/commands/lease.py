"""`lease`: say that something is in use."""

import click

from artifactctl.cli.options import ARTIFACT
from artifactctl.cli.shared_options import Command, Group, always
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError


@click.group(cls=Group)
def lease() -> None:
    """Say what is in use, so that nothing removes it meanwhile."""


class CommandAfterDashes(Command):
    """A command whose words after the first `--` are another command, passed as `words`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split the line at the first `--`; everything behind it is left exactly as it was typed."""
        own, words = args, []
        if "--" in args:
            own, words = args[: args.index("--")], args[args.index("--") + 1 :]
        rest = super().parse_args(ctx, own)
        if not words and not ctx.resilient_parsing:
            raise UsageError("no command was given", remedy="artifactctl lease run NAME -- COMMAND")
        ctx.params["words"] = tuple(words)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the command in the usage line."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND"]


@lease.command("run", cls=CommandAfterDashes, formats=(), changes=always)
@click.argument("names", type=ARTIFACT, nargs=-1, required=True)
@pass_wiring
def run(wiring: Wiring, names: tuple[str, ...], words: tuple[str, ...]) -> None:
    """Run a command while the named artifacts are in use.

    The leases are renewed while it runs and released when it ends. Signals and the exit code are passed on.
    """
    from artifactctl.cli.leased_command import run_leased

    raise SystemExit(run_leased(wiring, names, words))


@lease.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List what is in use, by whom and until when."""
    from artifactctl.report.promises import lease_payload, lease_table

    with wiring.catalog.reading() as reading:
        leases = reading.leases(wiring.now())
    wiring.output.answer(
        "leases",
        payload=lambda: {"leases": [lease_payload(each) for each in leases]},
        text=lambda: [lease_table(leases, now=wiring.now())],
    )


@lease.command("break", reasoned=True, changes=always)
@click.argument("lease_id", metavar="ID")
@pass_wiring
def break_(wiring: Wiring, lease_id: str) -> None:
    """End a lease whose holder is proven to be gone."""
    from artifactctl.inventory.leasing import break_lease
    from artifactctl.inventory.process_identity import this_process
    from artifactctl.report.promises import lease_payload

    reason = wiring.dialogue.reason("Why is the lease broken?")
    here = this_process(wiring.host.identify())
    broken = break_lease(wiring.catalog, lease_id, reason=reason, here=here, acting=wiring.acting)
    wiring.output.answer(
        "lease-break",
        payload=lambda: {"broken": lease_payload(broken)},
        text=lambda: [f"the lease on {broken.artifact_name} is over"],
    )
