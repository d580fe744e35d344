"""The report as one HTML file: no script, no request, nothing from elsewhere; the same values give the same bytes.

Names of artifacts are whatever somebody called a folder. They reach the page only through `markup`, which escapes.
"""

from artifactctl.report.markup import Markup, element, joined
from artifactctl.report.page_sections import (
    events_section,
    figures,
    lineage_section,
    promises_section,
    prospects_section,
    quarantine_section,
    stock_section,
    volumes_section,
)
from artifactctl.report.page_style import STYLE, content_security_policy
from artifactctl.report.stock_report import StockReport


def page(report: StockReport) -> str:
    """Return the whole document."""
    title = f"artifactctl report: {report.heading}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=content_security_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    body = element(
        "main",
        element("h1", "Training artifacts"),
        element("p", report.heading, class_="soft"),
        figures(report),
        volumes_section(report),
        stock_section(report),
        prospects_section(report),
        quarantine_section(report),
        promises_section(report),
        lineage_section(report),
        events_section(report),
        element("footer", _footer(report)),
    )
    document = element("html", joined((head, element("body", body))), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def _footer(report: StockReport) -> str:
    audit = report.overview.audit
    head = f", head {audit.hash}" if audit.hash else ""
    return f"artifactctl {report.version}; audit log: {audit.events:,} events{head}"
