"""Limits over a whole plan, as people read them."""

from artifactctl.domain.plans import Cap, CapName
from artifactctl.report.sizes import counted, format_bytes


def spell_exceeded(cap: Cap) -> str:
    """Return by how much a cap is exceeded: `6.0 TiB would go, 1.0 TiB above the limit of 5.0 TiB a run`."""
    if cap.name is CapName.SHARE_OF_KIND and cap.kind is not None and cap.population:
        share = f"{100 * cap.used / cap.population:.3g}%"
        return (
            f"{cap.used:,} of the {cap.population:,} living artifacts of the kind {cap.kind.value} would go "
            f"({share}), {_amount(cap, cap.excess)} above the limit of {_amount(cap, cap.limit)}"
        )
    used, limit, excess = (_amount(cap, value) for value in (cap.used, cap.limit, cap.excess))
    if cap.is_daily:
        with_earlier = f"with the {_amount(cap, cap.before)} of before " if cap.before else ""
        return f"{with_earlier}{used} would go today (UTC), {excess} above the limit of {limit} a day"
    return f"{used} would go, {excess} above the limit of {limit} a run"


def _amount(cap: Cap, value: int) -> str:
    in_bytes = cap.name in (CapName.BYTES, CapName.BYTES_PER_DAY)
    return format_bytes(value) if in_bytes else counted(value, "artifact")
