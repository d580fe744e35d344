"""`catalog`: copies of what is known, to keep and to hand on."""

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.shared_options import Group, always
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.group(cls=Group)
def catalog() -> None:
    """Back the catalog up, put a backup in its place, move it, or export what it knows."""


@catalog.command("backup")
@click.argument("file", type=PATH)
@pass_wiring
def backup(wiring: Wiring, file: bytes) -> None:
    """Copy the catalog to a new file, which is there only once it was checked. Others may write meanwhile."""
    from artifactctl.inventory.catalog_backup import back_up
    from artifactctl.report.catalog_copies import backup_payload, backup_text

    made = back_up(wiring.catalog, file, acting=wiring.acting)
    wiring.output.answer("catalog-backup", payload=lambda: backup_payload(made), text=lambda: [backup_text(made)])


@catalog.command("restore", reasoned=True)
@click.argument("file", type=PATH)
@pass_wiring
def restore(wiring: Wiring, file: bytes) -> None:
    """Put a backup in the catalog's place; the one it replaces is kept beside it.

    A restored catalog removes nothing until `artifactctl doctor --repair` has taken in what happened since the backup.
    """
    from artifactctl.cli.restoring import confirm_replacing, epochs_elsewhere
    from artifactctl.inventory.catalog_restore import put_in_force, unpacked
    from artifactctl.report.catalog_copies import restore_lines, restore_payload

    with unpacked(file, wiring.location.location, acting=wiring.acting, doorkeeper=wiring.doorkeeper) as found:
        confirm_replacing(wiring, found)
        elsewhere = epochs_elsewhere(wiring, found)
        reason = wiring.choices.reason or ""
        done = put_in_force(wiring.host, found, reason=reason, acting=wiring.acting, elsewhere=elsewhere)
    wiring.output.answer(
        "catalog-restore", payload=lambda: restore_payload(done), text=lambda: ["\n".join(restore_lines(done))]
    )
    wiring.output.hint("`artifactctl doctor` shows what happened since; `artifactctl doctor --repair` confirms it")


@catalog.command("copy", reasoned=True, changes=always)
@click.argument("url", metavar="URL")
@pass_wiring
def copy(wiring: Wiring, url: str) -> None:
    """Move the whole catalog to an empty PostgreSQL database or a new file; this one takes no more changes then.

    Nothing is removed below a root until `artifactctl doctor --repair` has confirmed the new catalog on its machine.
    """
    from artifactctl.cli.restoring import epochs_of_others
    from artifactctl.domain.roles import Act
    from artifactctl.inventory.catalog_copy import move_catalog
    from artifactctl.report.catalog_copies import copy_lines, copy_payload

    old = wiring.catalog
    old.require(Act.REPLACE_CATALOG, wiring.actor, wiring.now())
    wiring.dialogue.typed(f"Move {old.location}? It takes no more changes afterwards.", "move")
    reason, elsewhere = wiring.choices.reason or "", epochs_of_others(wiring)
    moved = move_catalog(wiring.host, old, url, reason=reason, acting=wiring.acting, elsewhere=elsewhere)
    wiring.output.answer(
        "catalog-copy", payload=lambda: copy_payload(moved), text=lambda: ["\n".join(copy_lines(moved))]
    )


@catalog.command("export", formats=())
@click.argument("file", type=PATH)
@click.option("--members", is_flag=True, help="With every member file of every artifact; can be very large.")
@pass_wiring
def export(wiring: Wiring, file: bytes, *, members: bool) -> None:
    """Write what the catalog knows as one JSON document, compressed for FILE.zst, replacing an earlier one.

    It takes the catalog's place on another machine: `artifactctl policy diff OLD NEW --snapshot FILE`.
    """
    from artifactctl.cli.saving import save_stream
    from artifactctl.report.catalog_export import export_pieces

    with wiring.catalog.reading() as reading:
        save_stream(file, export_pieces(reading, now=wiring.now(), with_members=members))
