"""`archive`, `unarchive`: another copy somewhere else, verified by reading it back, and the way home."""

import click

from artifactctl.cli.options import ARTIFACT, RATE
from artifactctl.cli.shared_options import Command, always
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command("archive", cls=Command, changes=always)
@click.argument("name", type=ARTIFACT)
@click.option(
    "--to", metavar="ROOT|[HOST:]PATH|URL", help="Where the copy goes: a root, a place below one, an object store."
)
@click.option("--bandwidth", type=RATE, help="Copy at most so much a second, such as 200MiB/s.")
@click.option(
    "--codec",
    type=click.Choice(["raw", "zstd", "planes"]),
    default="raw",
    help="How an object store keeps it: as it is (default), or compressed without loss; planes is for bf16.",
)
@click.option(
    "--abandon", is_flag=True, help="Give up a copy that was begun there (all that were, without --to), and its bytes."
)
@pass_wiring
def archive(
    wiring: Wiring,
    name: str,
    to: str | None,
    bandwidth: int | None,
    codec: str,
    abandon: bool,  # noqa: FBT001  a flag of the command line
) -> None:
    """Copy an artifact to another root or an object store, and verify the copy by reading it back from there.

    Modes, times, links and holes are kept; owners are not: the copy belongs to whom its root belongs to. Only a copy
    that was read back and is the same counts as one, and it never removes the original. Stopped or interrupted, the
    same command goes on where it was. Between two other machines the bytes pass through this one. Credentials for a
    store come from the environment or your profile.
    """
    from artifactctl.cli.archiving import carry_out_archive, give_up_begun

    if abandon:
        give_up_begun(wiring, name, to=to)
        return
    carry_out_archive(wiring, name, to=to, bandwidth_bytes=bandwidth, codec=codec)


@click.command("unarchive", cls=Command, changes=always)
@click.argument("name", type=ARTIFACT)
@click.option("--to", metavar="ROOT|[HOST:]PATH", help="Where it goes (default: where it was).")
@click.option("--bandwidth", type=RATE, help="Copy at most so much a second, such as 200MiB/s.")
@pass_wiring
def unarchive(wiring: Wiring, name: str, to: str | None, bandwidth: int | None) -> None:
    """Bring an artifact back from another copy, byte for byte, and verify it by reading it back.

    It comes from another root, else from an object store, and never onto anything. The copy it comes from stays.
    """
    from artifactctl.cli.archiving import carry_out_unarchive

    carry_out_unarchive(wiring, name, to=to, bandwidth_bytes=bandwidth)
