"""`audit`: what happened, who did it, on what evidence."""

from datetime import datetime, timedelta

import click

from artifactctl.cli.options import ARTIFACT, PAST, PATH, instant_of
from artifactctl.cli.shared_options import Group
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode


@click.group(cls=Group)
def audit() -> None:
    """Ask what happened, and prove that nobody changed the answer."""


@audit.command("ls", formats=("text", "json", "jsonl", "csv"))
@click.option("--artifact", type=ARTIFACT, help="Only what concerns this artifact.")
@click.option("--actor", metavar="NAME", help="Only what this person or program did.")
@click.option("--action", metavar="ACTION", help="Only this act, such as hold.add, or a kind of acts, such as purge.")
@click.option("--since", type=PAST, help="Only from then on (2026-11-30, or 7d for the last seven days).")
@click.option("--until", type=PAST, help="Only before then.")
@click.option("--path", type=PATH, help="Only what concerns this path or something below it.")
@pass_wiring
def ls(
    wiring: Wiring,
    artifact: str | None,
    actor: str | None,
    action: str | None,
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    path: bytes | None,
) -> None:
    """List what happened, oldest first."""
    from artifactctl.cli.audit_answers import print_events
    from artifactctl.inventory.asking_audit import AuditQuestion, matching_events

    now = wiring.now()
    question = AuditQuestion(
        artifact=artifact,
        actor=actor,
        action=action,
        since=instant_of(since, now=now),
        until=instant_of(until, now=now),
        path=path,
    )
    with wiring.catalog.reading() as reading:
        print_events(wiring.output, matching_events(reading, question, here=wiring.here))


@audit.command("show")
@click.argument("event_id", metavar="ID", type=click.IntRange(min=1))
@pass_wiring
def show(wiring: Wiring, event_id: int) -> None:
    """Show one event with its evidence."""
    from artifactctl.inventory.asking_audit import one_event
    from artifactctl.report.audit_events import event_text, event_with_evidence

    with wiring.catalog.reading() as reading:
        event = one_event(reading, event_id)
    wiring.output.answer("audit-event", payload=lambda: event_with_evidence(event), text=lambda: [event_text(event)])


@audit.command("verify")
@pass_wiring
def verify(wiring: Wiring) -> None:
    """Check that no event was altered, dropped or reordered."""
    from artifactctl import audit as chain
    from artifactctl.report.audit_events import verification_payload, verification_text

    with wiring.catalog.reading() as reading:
        verification = chain.verify(reading.connection)
    wiring.output.answer(
        "audit-verify",
        payload=lambda: verification_payload(verification),
        text=lambda: [verification_text(verification)],
    )
    if not verification.ok:
        raise SystemExit(ExitCode.CHECK_FAILED)


@audit.command("export", formats=())
@click.option("--out", type=PATH, help="Write to this file instead of stdout.")
@pass_wiring
def export(wiring: Wiring, out: bytes | None) -> None:
    """Write every event as one line of JSON, in the form that was hashed."""
    from artifactctl import audit as chain
    from artifactctl.cli.saving import save_text

    with wiring.catalog.reading() as reading:
        lines = chain.export_lines(reading.connection)
        if out is not None:
            save_text(out, "\n".join(lines))
            return
        for line in lines:
            wiring.output.data(line)
