"""Who uses what, and who could be changing what, as domain types out of the probe's wire form."""

import os
from collections.abc import Mapping
from typing import Any

from artifactctl.domain.contents import ContentLook
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import (
    BlindSpot,
    BlindSpotKind,
    Holder,
    HolderKind,
    HolderReport,
    VolumeUses,
)

Wire = Mapping[str, Any]


def holder_report(wire: Wire | None) -> HolderReport:
    """Return who uses the target; None (nothing could be looked at) is a blind spot, never an empty report."""
    if wire is None:
        return HolderReport(
            holders=(),
            blind_spots=(
                BlindSpot(
                    kind=BlindSpotKind.UNREADABLE,
                    count=1,
                    detail="nothing was looked at",
                    settled_by="look again once the target is there and can be reached without links and mounts",
                ),
            ),
            processes_inspected=0,
            lease_candidates=0,
            leases_granted=0,
            lease_answers_for_all_openers=False,
        )
    return HolderReport(
        holders=tuple(_holder(item) for item in wire["holders"]),
        blind_spots=tuple(
            BlindSpot(
                kind=BlindSpotKind(item["kind"]),
                count=item["count"],
                detail=item["detail"],
                settled_by=item["settled_by"],
            )
            for item in wire["blind_spots"]
        ),
        processes_inspected=wire["processes_inspected"],
        lease_candidates=wire["lease_candidates"],
        leases_granted=wire["leases_granted"],
        lease_answers_for_all_openers=wire["lease_answers_for_all_openers"],
    )


def _holder(wire: Wire) -> Holder:
    return Holder(
        kind=HolderKind(wire["kind"]),
        path=os.fsencode(wire["path"]),
        pid=wire["pid"],
        command=wire["command"],
        detail=wire["detail"],
    )


def volume_uses(wire: Wire) -> VolumeUses:
    """Return who uses what on a filesystem."""
    by_inode: dict[int, list[Holder]] = {}
    for item in wire["uses"]:
        if item["inode"] is not None:
            by_inode.setdefault(item["inode"], []).append(_holder(item))
    return VolumeUses(
        by_inode={inode: tuple(found) for inode, found in by_inode.items()},
        below=tuple(_holder(item) for item in wire["uses"] if item["inode"] is None),
        processes_inspected=wire["processes_inspected"],
        processes_denied=wire["processes_denied"],
        problems=tuple(wire["problems"]),
    )


def content_look(wire: Wire, target: ManagedPath) -> ContentLook:
    """Return what stands at a target and who could be changing it."""
    return ContentLook(
        path=target.absolute,
        is_there=wire["is_there"],
        is_directory=wire["is_directory"],
        fingerprint=wire["fingerprint"],
        member_digest=wire["member_digest"],
        writers=holder_report(wire["writers"]),
        problems=tuple(wire["problems"]),
    )
