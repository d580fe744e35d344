"""The plan as a file: the same object that `reclaim --dry-run --json` prints, with everything `apply` needs.

Two checks stand over a file: its `plan_digest` must be the digest of what it says would be done, and its `seal` the
SHA-256 over every other byte of meaning, so that an edit anywhere (an expiry, a reason) is noticed. They protect
against slips, not against somebody who recomputes them: applying looks at everything afresh anyway.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.identity import FileIdentity
from artifactctl.domain.plans import (
    Bound,
    Cap,
    CapName,
    ReclaimPlan,
    ReclaimStep,
    Refusal,
    bytes_of,
    canonical_json,
    text_of,
)
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.reclaim.plan_fields import Json, flag_in, list_in, number_in, number_or_none_in, text_in
from artifactctl.report.evidence import evidence_payload
from artifactctl.report.json_values import json_path

SCHEMA = "artifactctl.reclaim-plan/1"


class PlanEdited(Refused):
    """The file is not the plan that was made."""


def plan_to_json(plan: ReclaimPlan) -> dict[str, object]:
    """Return the plan as a JSON-safe object with `schema`, every field of cli.md, and `seal`."""
    freed = plan.expected_freed_bytes
    body: dict[str, object] = {
        "schema": SCHEMA,
        "plan_digest": plan.digest,
        "host": plan.hostname,
        "machine_id": plan.machine_id,
        **({"host_key": plan.host_key} if plan.host_key else {}),
        "volume": text_of(plan.mount),
        "catalog_id": plan.catalog_id,
        "catalog_epoch": plan.catalog_epoch,
        "policy_name": plan.policy_name,
        "policy_digest": plan.policy_digest,
        "policy_files": [{"name": name, "text": text} for name, text in plan.policy_files],
        "actor": plan.actor,
        "created_at": _instant(plan.created_at),
        "expires_at": _instant(plan.expires_at),
        "grace_seconds": int(plan.grace.total_seconds()),
        "purge_now": plan.purge_now,
        "available_before_bytes": plan.available_before_bytes,
        "expected_freed_bytes": freed,
        "freed_now_bytes": freed if plan.purge_now else 0,
        "freed_after_purge_bytes": freed,
        "waived": list(plan.waivers),
        "waiver_reason": plan.waiver_reason,
        "needs_approval": list(plan.needs_approval),
        "caps": [_cap_to_json(cap) for cap in plan.caps],
        "steps": [_step_to_json(step) for step in plan.steps],
        "refused": [_refusal_to_json(item) for item in plan.refused],
    }
    body["seal"] = _seal(body)
    return body


def plan_from_text(text: str, *, where: str) -> ReclaimPlan:
    """Parse a plan file; UsageError when it is not one, PlanEdited when digest or seal do not match."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{where} is not JSON (line {error.lineno}): {error.msg}",
            remedy="give the file that `artifactctl reclaim --out FILE` wrote",
        ) from error
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise UsageError(
            f"{where} is not a reclaim plan of this version ({SCHEMA})",
            remedy="give the file that `artifactctl reclaim --out FILE` wrote",
        )
    try:
        plan = _plan_from(body)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{where} is not a complete reclaim plan: {error!r}", remedy="plan again") from error
    if body.get("seal") != _seal({k: v for k, v in body.items() if k != "seal"}) or body["plan_digest"] != plan.digest:
        raise PlanEdited(
            f"{where} was changed after it was made: its digest does not match its content",
            remedy="make a new plan with `artifactctl reclaim --out FILE`",
        )
    return plan


def _step_to_json(step: ReclaimStep) -> dict[str, object]:
    return {
        "name": step.name,
        "kind": step.kind.value,
        **json_path(step.path),
        "artifact_id": step.artifact_id,
        "replica_id": step.replica_id,
        "generation": step.generation,
        "root_id": step.root_id,
        "root_path": text_of(step.root_path),
        "relative": text_of(step.relative),
        "filesystem_uuid": step.filesystem_uuid,
        "inode": step.identity.inode,
        "birth_ns": step.identity.birth_ns,
        "ctime_ns": step.identity.ctime_ns,
        **({"subvolume": step.identity.subvolume} if step.identity.subvolume else {}),
        "fingerprint": step.fingerprint,
        "files": step.files,
        "apparent_bytes": step.apparent_bytes,
        "allocated_bytes": step.allocated_bytes,
        "exclusive_bytes": step.exclusive_bytes,
        "expected_freed_bytes": step.expected_freed_bytes,
        "bound": step.bound.value,
        "sibling": step.sibling,
        "evidence": evidence_payload(step.evidence),
    }


def _refusal_to_json(item: Refusal) -> dict[str, object]:
    return {
        "name": item.name,
        **json_path(item.path),
        "allocated_bytes": item.allocated_bytes,
        "exclusive_bytes": item.exclusive_bytes,
        "bound": item.bound.value,
        "evidence": evidence_payload(item.evidence),
    }


def _cap_to_json(cap: Cap) -> dict[str, object]:
    return {
        "name": cap.name.value,
        "limit": cap.limit,
        "used": cap.used,
        "before": cap.before,
        "kind": None if cap.kind is None else cap.kind.value,
        "population": cap.population,
        "exceeded": cap.exceeded,
        "exceeded_by": cap.excess,
    }


def _plan_from(body: Json) -> ReclaimPlan:
    return ReclaimPlan(
        catalog_id=text_in(body, "catalog_id"),
        catalog_epoch=number_in(body, "catalog_epoch"),
        machine_id=text_in(body, "machine_id"),
        host_key=text_in(body, "host_key") if "host_key" in body else "",
        hostname=text_in(body, "host"),
        mount=bytes_of(text_in(body, "volume")),
        policy_name=text_in(body, "policy_name"),
        policy_digest=text_in(body, "policy_digest"),
        policy_files=tuple(
            (text_in(file, "name"), text_in(file, "text")) for file in cast("list[Json]", list_in(body, "policy_files"))
        ),
        waivers=tuple(str(item) for item in list_in(body, "waived")),
        waiver_reason=text_in(body, "waiver_reason"),
        purge_now=flag_in(body, "purge_now"),
        grace=timedelta(seconds=number_in(body, "grace_seconds")),
        needs_approval=tuple(str(item) for item in list_in(body, "needs_approval")),
        steps=tuple(_step_from(cast("Json", item)) for item in list_in(body, "steps")),
        refused=tuple(_refusal_from(cast("Json", item)) for item in list_in(body, "refused")),
        caps=tuple(_cap_from(cast("Json", item)) for item in list_in(body, "caps")),
        actor=text_in(body, "actor"),
        created_at=datetime.fromisoformat(text_in(body, "created_at")),
        expires_at=datetime.fromisoformat(text_in(body, "expires_at")),
        available_before_bytes=number_in(body, "available_before_bytes"),
    )


def _step_from(item: Json) -> ReclaimStep:
    uuid = text_in(item, "filesystem_uuid")
    return ReclaimStep(
        name=text_in(item, "name"),
        kind=ArtifactKind(text_in(item, "kind")),
        artifact_id=number_in(item, "artifact_id"),
        replica_id=number_in(item, "replica_id"),
        generation=number_in(item, "generation"),
        root_id=text_in(item, "root_id"),
        root_path=bytes_of(text_in(item, "root_path")),
        relative=bytes_of(text_in(item, "relative")),
        filesystem_uuid=uuid,
        identity=FileIdentity(
            filesystem_uuid=uuid,
            inode=number_in(item, "inode"),
            birth_ns=number_or_none_in(item, "birth_ns"),
            ctime_ns=number_or_none_in(item, "ctime_ns"),
            subvolume=text_in(item, "subvolume") if "subvolume" in item else "",
        ),
        fingerprint=text_in(item, "fingerprint"),
        files=number_in(item, "files"),
        apparent_bytes=number_in(item, "apparent_bytes"),
        allocated_bytes=number_in(item, "allocated_bytes"),
        exclusive_bytes=number_in(item, "exclusive_bytes"),
        bound=Bound(text_in(item, "bound")),
        sibling=flag_in(item, "sibling"),
        evidence=_evidence_from(list_in(item, "evidence")),
    )


def _refusal_from(item: Json) -> Refusal:
    return Refusal(
        name=text_in(item, "name"),
        path=bytes_of(text_in(item, "path")),
        allocated_bytes=number_in(item, "allocated_bytes"),
        exclusive_bytes=number_in(item, "exclusive_bytes"),
        bound=Bound(text_in(item, "bound")),
        evidence=_evidence_from(list_in(item, "evidence")),
    )


def _cap_from(item: Json) -> Cap:
    return Cap(
        name=CapName(text_in(item, "name")),
        limit=number_in(item, "limit"),
        used=number_in(item, "used"),
        before=number_in(item, "before"),
        kind=None if item["kind"] is None else ArtifactKind(text_in(item, "kind")),
        population=number_or_none_in(item, "population"),
    )


def _evidence_from(items: Sequence[object]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            guard=text_in(item, "guard"),
            verdict=Verdict(text_in(item, "verdict")),
            reason=text_in(item, "reason"),
            facts=tuple((str(key), str(value)) for key, value in cast("list[list[str]]", item["facts"])),
            remedy=text_in(item, "remedy"),
            waived=flag_in(item, "waived"),
        )
        for item in cast("Sequence[Json]", items)
    )


def _seal(body: Json) -> str:
    return hashlib.sha256(canonical_json(body).encode("ascii")).hexdigest()


def _instant(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
