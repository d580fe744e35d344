"""`df`: every volume with what is promised, set aside, catalogued and unaccounted for, and what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable, shown_path
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes
from artifactctl.report.tables import Document, Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeAccount:
    """One volume of the machine `host` (`elsewhere`: its name again unless it is this one). `unaccounted_bytes` is what
    is used and neither catalogued, in quarantine nor artifactctl's own.

    `own_bytes` are the marker, journal, manifests and ballast of the roots on it.
    """

    host: str
    name: str
    mount: bytes
    filesystem_type: str
    filesystem_uuid: str
    size_bytes: int
    available_bytes: int
    used_bytes: int
    reserved_bytes: int
    quarantined_bytes: int
    catalogued_bytes: int
    own_bytes: int
    limited_by: str
    elsewhere: str = ""

    @property
    def unaccounted_bytes(self) -> int:
        """Bytes in use that the catalog knows nothing of; never negative (sparse files, shared extents)."""
        return max(0, self.used_bytes - self.catalogued_bytes - self.quarantined_bytes - self.own_bytes)


def volume_table(accounts: Sequence[VolumeAccount]) -> Table:
    """Return the volumes as a table."""
    return Table(
        columns=columns(
            "volume",
            ">size",
            ">available",
            ">reserved",
            ">quarantined",
            ">catalogued",
            ">unaccounted",
            "limited by",
            "mounted on",
        ),
        rows=tuple(
            (
                printable(account.name),
                format_bytes(account.size_bytes),
                format_bytes(account.available_bytes),
                format_bytes(account.reserved_bytes),
                format_bytes(account.quarantined_bytes),
                format_bytes(account.catalogued_bytes),
                format_bytes(account.unaccounted_bytes),
                account.limited_by,
                shown_path(account.elsewhere, account.mount),
            )
            for account in accounts
        ),
        empty="no volumes",
    )


def volumes_text(accounts: Sequence[VolumeAccount]) -> Document:
    """Return `df` for a person: the table, and what of the used bytes is artifactctl's own."""
    own = [f"{format_bytes(a.own_bytes)} on {shown_path(a.elsewhere, a.mount)}" for a in accounts if a.own_bytes]
    note = f"not unaccounted: markers, journals and manifests of artifactctl itself, {', '.join(own)}"
    return [volume_table(accounts), *(("", note) if own else ())]


def volume_payload(account: VolumeAccount) -> dict[str, Any]:
    """Return one volume of `df --json`."""
    return {
        "host": account.host,
        "name": account.name,
        **json_path(account.mount, key="mount"),
        "filesystem_type": account.filesystem_type,
        "filesystem_uuid": account.filesystem_uuid,
        "size_bytes": account.size_bytes,
        "available_bytes": account.available_bytes,
        "used_bytes": account.used_bytes,
        "reserved_bytes": account.reserved_bytes,
        "quarantined_bytes": account.quarantined_bytes,
        "catalogued_bytes": account.catalogued_bytes,
        "own_bytes": account.own_bytes,
        "unaccounted_bytes": account.unaccounted_bytes,
        "limited_by": account.limited_by,
    }
