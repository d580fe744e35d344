"""`scan`, `register`, `verify`: what is there, what it is, and whether it is whole."""

import click

from artifactctl.cli.options import ARTIFACT, DURATION, NAME, PATH, PLACE, TOKENS
from artifactctl.cli.shared_options import Command, always, unless_dry_run
from artifactctl.cli.which_machine import Incomplete, hosts_option, spot_of
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.artifacts import ArtifactKind, VerifyLevel
from artifactctl.domain.errors import ExitCode, UsageError
from artifactctl.domain.verification import Depth


@click.command("scan", cls=Command, changes=unless_dry_run)
@click.argument("places", nargs=-1, type=PLACE, metavar="[ROOT|PATH|HOST:PATH]...")
@hosts_option
@click.option("--dry-run", is_flag=True, help="Show what a scan would record; writes nothing.")
@click.option(
    "--accept",
    multiple=True,
    type=ARTIFACT,
    metavar="NAME|PATH",
    help="Let the catalog follow what this artifact is now.",
)
@pass_wiring
def scan(
    wiring: Wiring, places: tuple[str, ...], hosts: tuple[str, ...], accept: tuple[str, ...], *, dry_run: bool
) -> None:
    """Recognise and register what is there; report drift, strays and bytes that are nobody's.

    Reads headers only. Without arguments it looks at every root of this machine; where this one has none and only one
    other has some, at that one's.
    """
    from artifactctl.cli.scan_words import scans_meant
    from artifactctl.cli.scanning import scan_each
    from artifactctl.report.scan import scans_document, scans_payload

    meant = scans_meant(wiring, places, accept, hosts)
    answered = Incomplete(wiring)
    with wiring.output.progress(None, "files", "scanning") as advance:
        scanned = scan_each(wiring, meant, wrote=not dry_run, advance=advance)
        found = list(answered.answers(scanned, of=len(meant)))
    wiring.output.answer(
        "scan",
        payload=lambda: {**scans_payload(found, wrote=not dry_run), **answered.payload},
        text=lambda: scans_document(found, wrote=not dry_run),
    )
    complete = all(report.is_complete for _, report in found)
    raise SystemExit(int(answered.exit_code(ExitCode.DONE if complete else ExitCode.PARTLY_DONE)))


@click.command("register", cls=Command, changes=always)
@click.argument("path", type=PLACE, metavar="PATH|HOST:PATH")
@click.option("--kind", type=click.Choice([kind.value for kind in ArtifactKind]), help="What it is.")
@click.option("--name", type=NAME, default=None, help="What to call it (default: root/path).")
@click.option("--input", "inputs", multiple=True, metavar="NAME[:ROLE]", help="What it was made from; repeatable.")
@click.option("--tokens", type=TOKENS, help="How many tokens it holds.")
@click.option("--records", type=click.IntRange(min=0), help="How many records it holds.")
@click.option("--supersedes", metavar="NAME", default="", help="The artifact whose place it takes.")
@click.option("--run-time", type=DURATION, help="How long making it took, such as 19h.")
@click.option("--cost-gpu-hours", type=click.FloatRange(min=0), help="GPU hours that making it again would take.")
@click.option("--cost-usd", type=click.FloatRange(min=0), help="What making it again would cost.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label; repeatable.")
@pass_wiring
def register(
    wiring: Wiring,
    path: str,
    kind: str | None,
    name: str | None,
    inputs: tuple[str, ...],
    labels: tuple[str, ...],
    **facts: object,
) -> None:
    """Say what the thing at PATH is, what it was made from and what it cost.

    What is registered there already keeps its name unless --name gives it another one; the old one still leads to it.
    """
    from artifactctl.cli.statements import statement_of
    from artifactctl.inventory.registering import name_at
    from artifactctl.inventory.registering import register as register_artifact
    from artifactctl.report.inventory import registered_line, registered_payload

    statement = statement_of(kind=kind, name=name, inputs=inputs, labels=labels, facts=facts)
    host, place = spot_of(wiring, path)
    before = name_at(host, wiring.catalog, place)
    artifact = register_artifact(
        host, wiring.catalog, place, statement, here=wiring.here, now=wiring.now(), actor=wiring.actor
    )
    wiring.output.answer(
        "artifact",
        payload=lambda: registered_payload(artifact, name_before=before),
        text=lambda: [registered_line(artifact, name_before=before)],
    )


@click.command("verify", cls=Command, changes=always)
@click.argument("names", nargs=-1, type=ARTIFACT, metavar="[NAME|PATH]...")
@click.option("--all", "everything", is_flag=True, help="Everything that has a living copy, on every machine.")
@hosts_option
@click.option(
    "--level",
    type=click.Choice([level.value for level in VerifyLevel]),
    default=VerifyLevel.HEADERS.value,
    show_default=True,
    help="How deep to look; digests reads every byte.",
)
@click.option("--values", is_flag=True, help="Read hidden states whole: one that is NaN or infinite is a fault.")
@click.option(
    "--redo-list",
    type=PATH,
    metavar="FILE",
    help="Write what of a dump is missing, torn, short or not finite to this file, as lines of JSON; means --values.",
)
@pass_wiring
def verify(
    wiring: Wiring,
    names: tuple[str, ...],
    level: str,
    hosts: tuple[str, ...],
    redo_list: bytes | None,
    *,
    everything: bool,
    values: bool,
) -> None:
    """Check that every member is there, whole, and what was declared; exits 3 when not.

    A name means every copy of it, wherever it lies; a path the copies on its machine.
    """
    from artifactctl.cli.saving import save_stream
    from artifactctl.cli.verifying import verify_each
    from artifactctl.report.redo_list import redo_lines
    from artifactctl.report.verification import verify_document, verify_payload

    if bool(names) == everything:
        raise UsageError("say what to verify", remedy="name artifacts, or give --all; not both")
    reads_values = values or redo_list is not None
    if reads_values and level == VerifyLevel.MEMBERS.value:
        raise UsageError("the level members reads no file", remedy="--level headers reads values with --values")
    answered = Incomplete(wiring)
    with wiring.output.progress(None, "bytes", "reading") as advance:
        results = verify_each(
            wiring,
            names,
            answered,
            hosts=hosts,
            depth=Depth(level=VerifyLevel(level), reads_values=reads_values),
            advance=advance,
        )
    wiring.output.answer(
        "verify",
        payload=lambda: {**verify_payload(results), **answered.payload},
        text=lambda: verify_document(results),
    )
    if redo_list is not None:
        save_stream(redo_list, redo_lines(results))
    sound = all(result.ok for result in results) and not answered.missing
    raise SystemExit(int(ExitCode.DONE if sound else ExitCode.CHECK_FAILED))
