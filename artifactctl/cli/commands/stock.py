"""`scan`, `register`, `verify`: what is there, what it is, and whether it is whole."""

import os

import click

from artifactctl.cli.options import ARTIFACT, DURATION, NAME, PATH, TOKENS
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.artifacts import ArtifactKind, VerifyLevel
from artifactctl.domain.errors import ExitCode, UsageError


@click.command("scan", cls=Command)
@click.argument("places", nargs=-1, metavar="[ROOT|PATH]...")
@click.option("--dry-run", is_flag=True, help="Show what a scan would record; writes nothing.")
@click.option(
    "--accept",
    multiple=True,
    type=ARTIFACT,
    metavar="NAME|PATH",
    help="Let the catalog follow what this artifact is now.",
)
@pass_wiring
def scan(wiring: Wiring, places: tuple[str, ...], accept: tuple[str, ...], *, dry_run: bool) -> None:
    """Recognise and register what is there; report drift, strays and bytes that are nobody's.

    Reads headers only. Without arguments it looks at every root of this machine.
    """
    from artifactctl.inventory import scanning
    from artifactctl.inventory.finding import find_artifacts
    from artifactctl.report.scan import scan_document, scan_payload

    words = [os.fsencode(place) for place in places]
    with wiring.catalog.reading() as reading:
        accepted = tuple(artifact.name for artifact in find_artifacts(reading, accept, here=wiring.here))
    with wiring.output.progress(None, "files", "scanning") as advance:
        seen = 0

        def progress(files: int, allocated_bytes: int, folder: bytes) -> None:
            nonlocal seen
            advance(files - seen)
            seen = files

        if dry_run:
            report = scanning.look(wiring.host, wiring.catalog, words, accept=accepted, progress=progress)
        else:
            report = scanning.scan(
                wiring.host,
                wiring.catalog,
                words,
                now=wiring.now(),
                actor=wiring.actor,
                accept=accepted,
                progress=progress,
            )
    wiring.output.answer(
        "scan",
        payload=lambda: scan_payload(report, wrote=not dry_run),
        text=lambda: scan_document(report, wrote=not dry_run),
    )
    raise SystemExit(int(ExitCode.DONE if report.is_complete else ExitCode.PARTLY_DONE))


@click.command("register", cls=Command)
@click.argument("path", type=PATH)
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
    path: bytes,
    kind: str | None,
    name: str | None,
    inputs: tuple[str, ...],
    labels: tuple[str, ...],
    **facts: object,
) -> None:
    """Say what the thing at PATH is, what it was made from and what it cost."""
    from artifactctl.cli.statements import statement_of
    from artifactctl.inventory.registering import register as register_artifact

    statement = statement_of(kind=kind, name=name, inputs=inputs, labels=labels, facts=facts)
    artifact = register_artifact(
        wiring.host, wiring.catalog, path, statement, here=wiring.here, now=wiring.now(), actor=wiring.actor
    )
    wiring.output.answer(
        "artifact",
        payload=lambda: {"name": artifact.name, "kind": artifact.kind.value},
        text=lambda: [f"{artifact.name} is registered as {artifact.kind.value}"],
    )


@click.command("verify", cls=Command)
@click.argument("names", nargs=-1, type=ARTIFACT, metavar="[NAME|PATH]...")
@click.option("--all", "everything", is_flag=True, help="Everything with a living copy on this machine.")
@click.option(
    "--level",
    type=click.Choice([level.value for level in VerifyLevel]),
    default=VerifyLevel.HEADERS.value,
    show_default=True,
    help="How deep to look; digests reads every byte.",
)
@pass_wiring
def verify(wiring: Wiring, names: tuple[str, ...], level: str, *, everything: bool) -> None:
    """Check that every member is there, whole, and what was declared; exits 3 when not."""
    from artifactctl.inventory import verifying
    from artifactctl.report.verification import verify_document, verify_payload

    if bool(names) == everything:
        raise UsageError("say what to verify", remedy="name artifacts, or give --all; not both")
    with wiring.output.progress(None, "bytes", "reading") as advance:
        results = tuple(
            verifying.verify_named(
                wiring.host,
                wiring.catalog,
                names=verifying.names_here(wiring.host, wiring.catalog) if everything else names,
                here=wiring.here,
                now=wiring.now(),
                actor=wiring.actor,
                level=VerifyLevel(level),
                progress=advance,
                clients=wiring.clients,
            )
        )
    wiring.output.answer("verify", payload=lambda: verify_payload(results), text=lambda: verify_document(results))
    sound = all(result.ok for result in results)
    raise SystemExit(int(ExitCode.DONE if sound else ExitCode.CHECK_FAILED))
