"""What a backup holds, what a restore replaced, and what waits to be confirmed."""

from typing import Any

from artifactctl.domain.backups import CatalogBackup, CatalogCopy, CatalogRestore, PresentCatalog
from artifactctl.domain.text import display_path, printable
from artifactctl.report.instants import format_instant
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes


def backup_text(backup: CatalogBackup) -> str:
    """Return one line about a backup that was made and checked."""
    return (
        f"{display_path(backup.path)}: {format_bytes(backup.size_bytes)}, epoch {backup.identity.epoch}, "
        f"{backup.audit_events:,} audit events, checked (head {backup.audit_head[:12] or 'none'})"
    )


def backup_payload(backup: CatalogBackup) -> dict[str, Any]:
    """Return a backup as JSON; `audit_head` kept elsewhere proves the chain later."""
    return {
        **json_path(backup.path),
        "size_bytes": backup.size_bytes,
        "lineage": backup.identity.lineage_id,
        "epoch": backup.identity.epoch,
        "revision": backup.identity.revision,
        "written_at": backup.identity.written_at,
        "audit_events": backup.audit_events,
        "audit_head": backup.audit_head,
        "roots": list(backup.roots),
    }


def copy_lines(copy: CatalogCopy) -> list[str]:
    """Return what was moved and what comes next."""
    rows = sum(copy.rows.values())
    lines = [
        f"{printable(copy.target)}: {rows:,} rows in {len(copy.rows)} tables, {copy.audit_events:,} audit events, "
        f"compared and checked (head {copy.audit_head[:12]}), epoch {copy.epoch}",
        f"{printable(copy.source)} takes no more changes; keep it until the new one is confirmed and backed up",
        "next, on every machine that has roots: name the new place in ARTIFACTCTL_CATALOG or under [catalog], then run",
        "`artifactctl doctor --repair` there: until it has confirmed the roots, nothing is removed below them",
    ]
    if copy.unreachable_roots:
        lines.append(f"not reachable: {printable(', '.join(copy.unreachable_roots))}")
    return lines


def copy_payload(copy: CatalogCopy) -> dict[str, Any]:
    """Return a move as JSON."""
    return {
        "from": copy.source,
        "to": copy.target,
        "lineage": copy.lineage_id,
        "epoch": copy.epoch,
        "rows": dict(copy.rows),
        "audit_events": copy.audit_events,
        "audit_head": copy.audit_head,
        "unreachable_roots": list(copy.unreachable_roots),
        "confirmed": False,
    }


def replacing_lines(present: PresentCatalog, backup: CatalogBackup) -> list[str]:
    """Return what a person should know before the present catalog is replaced by a backup that is not newer."""
    lines = [f"The backup was last written to at {format_instant(backup.identity.written_at)}."]
    mine = present.identity
    if mine is None:
        return [*lines, f"The present catalog cannot be read: {printable(present.problem)}."]
    if mine.lineage_id != backup.identity.lineage_id:
        return [*lines, "The present catalog is another one, not an earlier state of the same."]
    lines.append(f"The present catalog was last written to at {format_instant(mine.written_at)}.")
    lost = [
        (present.operations_since, "removal(s)"),
        (present.holds_since, "hold(s)"),
        (present.leases_in_force, "lease(s) in force"),
        (len(present.roots_since), "root(s): " + printable(", ".join(present.roots_since))),
    ]
    lines += [f"  only the present catalog knows {count} {what}" for count, what in lost if count]
    return lines


def restore_lines(restore: CatalogRestore) -> list[str]:
    """Return what was done and what comes next."""
    lines = [f"the catalog is that of {display_path(restore.backup.path)} now, at epoch {restore.epoch}"]
    if restore.kept_at is not None:
        lines.append(f"the one it replaced is kept at {display_path(restore.kept_at)}")
    if restore.unreachable_roots:
        lines.append(f"not reachable: {printable(', '.join(restore.unreachable_roots))}")
    return lines


def restore_payload(restore: CatalogRestore) -> dict[str, Any]:
    """Return a restore as JSON."""
    return {
        "backup": backup_payload(restore.backup),
        "epoch": restore.epoch,
        **json_path(restore.kept_at, key="kept_at"),
        "unreachable_roots": list(restore.unreachable_roots),
        "confirmed": False,
    }
