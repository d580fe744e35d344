"""`metrics`: the overview in the Prometheus text format (version 0.0.4), without timestamps.

node_exporter's textfile collector takes no timestamps, so an alert on staleness compares `time()` with
`artifactctl_last_success_timestamp_seconds` or with the file's own `node_textfile_mtime_seconds`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import display_path, encodable
from artifactctl.report.overview import Overview
from artifactctl.report.volumes import VolumeAccount

FILE_NAME = "artifactctl.prom"

_VOLUME_FIGURES = (
    ("size", "Size of the volume."),
    ("available", "What may still be written by an ordinary user, as df says."),
    ("reserved", "What was promised by `plan --reserve` and is not written yet."),
    ("quarantined", "What lies in quarantine and comes free with a purge."),
    ("catalogued", "What belongs to catalogued artifacts in their places."),
    ("unaccounted", "What is used and neither catalogued, in quarantine nor artifactctl's own."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One family: its samples are (labels, value)."""

    name: str
    help: str
    type: str = "gauge"
    samples: tuple[tuple[tuple[tuple[str, str], ...], float], ...]


def metrics_of(overview: Overview, *, version: str) -> tuple[Metric, ...]:
    """Return every family, also those without a sample."""
    return (
        _alone("build_info", "The version that wrote this.", 1, version=version),
        *_stock(overview),
        *_volumes(overview.volumes),
        _machines(overview),
        *_quarantine(overview),
        _alone("leases", "Leases in force.", len(overview.leases)),
        _alone("holds", "Holds in force.", len(overview.holds)),
        _alone("reservations", "Reservations in force.", len(overview.reservations)),
        *_audit(overview),
    )


def exposition(metrics: Sequence[Metric]) -> str:
    """Return the text format; every line ends with a newline."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def metrics_payload(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return the same figures for scripts."""
    return {
        "metrics": [
            {"name": metric.name, "type": metric.type, "labels": dict(labels), "value": value}
            for metric in metrics
            for labels, value in metric.samples
        ]
    }


def _lines(metric: Metric) -> Iterator[str]:
    text = metric.help.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {metric.name} {text}"
    yield f"# TYPE {metric.name} {metric.type}"
    for labels, value in metric.samples:
        inside = ",".join(f'{key}="{_label(text)}"' for key, text in labels)
        yield f"{metric.name}{{{inside}}} {value}" if inside else f"{metric.name} {value}"


def _label(text: str) -> str:
    """Return a label's value escaped; bytes that are not UTF-8 become `\\udcXX`, since the format is UTF-8."""
    return encodable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _alone(name: str, text: str, value: float, *, type: str = "gauge", **labels: str) -> Metric:
    return Metric(name=f"artifactctl_{name}", help=text, type=type, samples=((tuple(labels.items()), value),))


def _stock(overview: Overview) -> Iterator[Metric]:
    labelled = [
        ((("kind", share.kind), ("state", share.state), ("root", share.root)), share) for share in overview.shares
    ]
    yield Metric(
        name="artifactctl_bytes",
        help="Allocated bytes of catalogued artifacts that still exist.",
        samples=tuple((labels, share.allocated_bytes) for labels, share in labelled),
    )
    yield Metric(
        name="artifactctl_artifacts",
        help="Catalogued artifacts with a copy whose bytes still exist.",
        samples=tuple((labels, share.artifacts) for labels, share in labelled),
    )


def _volumes(accounts: Sequence[VolumeAccount]) -> Iterator[Metric]:
    for figure, text in _VOLUME_FIGURES:
        yield Metric(
            name=f"artifactctl_volume_{figure}_bytes",
            help=text,
            samples=tuple(
                (
                    (("host", account.host), ("volume", account.name), ("mount", display_path(account.mount))),
                    getattr(account, f"{figure}_bytes"),
                )
                for account in accounts
            ),
        )


def _machines(overview: Overview) -> Metric:
    up = {account.host: 1 for account in overview.volumes} | {name: 0 for name, _ in overview.unreachable}
    return Metric(
        name="artifactctl_machine_up",
        help="Whether a machine that has roots answered; the volume figures of one that did not are not there.",
        samples=tuple(((("host", name),), value) for name, value in sorted(up.items())),
    )


def _quarantine(overview: Overview) -> Iterator[Metric]:
    expired = sum(entry.allocated_bytes for entry in overview.expired)
    oldest = overview.oldest_quarantine_age.total_seconds()
    yield _alone("quarantine_artifacts", "Artifacts in quarantine.", len(overview.quarantined))
    yield _alone(
        "quarantine_oldest_age_seconds", "Age of the oldest thing in quarantine; 0 when there is none.", oldest
    )
    yield _alone("quarantine_expired_bytes", "What lies in quarantine beyond its grace.", expired)


def _audit(overview: Overview) -> Iterator[Metric]:
    yield _alone("audit_events_total", "Events in the audit log.", overview.audit.events, type="counter")
    yield _alone("audit_head_info", "The hash of the newest audit event.", 1, hash=overview.audit.hash)
    yield Metric(
        name="artifactctl_last_success_timestamp_seconds",
        help="When each kind of act last came about, by the audit log.",
        samples=tuple(((("action", act),), at.timestamp()) for act, at in overview.last_successes.items()),
    )
