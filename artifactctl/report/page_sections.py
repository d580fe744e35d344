"""The sections of the page: each a heading, a picture where one helps, and always the table behind it."""

from collections.abc import Sequence

from artifactctl.domain.text import display_path
from artifactctl.report.audit_events import event_table
from artifactctl.report.bars import Segment, bar, legend
from artifactctl.report.disk_usage import Share
from artifactctl.report.lineage import lineage_tree
from artifactctl.report.markup import Markup, element, escaped, html_table, joined
from artifactctl.report.promises import hold_table, lease_table, reservation_table
from artifactctl.report.prospects import Prospect, largest_first
from artifactctl.report.quarantine import quarantine_table
from artifactctl.report.sizes import counted, format_bytes
from artifactctl.report.stock_report import StockReport, headline_figures
from artifactctl.report.tables import Table, columns
from artifactctl.report.volumes import VolumeAccount, volume_table

MOST_PROSPECTS = 200
_STATES = ("live", "building", "quarantined", "other")


def figures(report: StockReport) -> Markup:
    """Return the few figures that matter most."""
    return element(
        "div",
        *(
            element("div", element("span", what), element("strong", amount), element("span", more))
            for what, amount, more in headline_figures(report)
        ),
        class_="figures",
    )


def volumes_section(report: StockReport) -> Markup:
    """Return one bar a volume: what is known, what is not, what is promised, what is left."""
    accounts = report.overview.volumes
    drawn = [_volume(account) for account in accounts]
    key = legend(_segments(accounts[0])) if accounts else Markup()
    return _section(
        "Volumes",
        "What fills them, and what is left. Unaccounted: in use, and neither catalogued nor in quarantine.",
        *drawn,
        key,
        html_table(volume_table(accounts)),
    )


def stock_section(report: StockReport) -> Markup:
    """Return the catalogued bytes: a bar for each kind, the states side by side."""
    shares = report.overview.shares
    kinds = sorted({share.kind for share in shares}, key=lambda kind: (-_sum(shares, kind), kind))
    most = max((_sum(shares, kind) for kind in kinds), default=0)
    table = Table(
        columns=columns("kind", "states", ">artifacts", ">on disk"),
        rows=tuple(
            (
                kind,
                ", ".join(f"{s.state} on {s.root}" for s in shares if s.kind == kind),
                f"{sum(s.artifacts for s in shares if s.kind == kind):,}",
                format_bytes(_sum(shares, kind)),
            )
            for kind in kinds
        ),
        empty="Nothing is catalogued yet: `artifactctl scan` finds what is there.",
    )
    pictures = [bar(_states(shares, kind), whole_bytes=most) for kind in kinds]
    key = legend([Segment(label=state, style=state, size_bytes=0) for state in _STATES])
    return _section(
        "Stock", "Catalogued bytes by kind and state.", html_table(table, pictures=pictures), key if kinds else Markup()
    )


def prospects_section(report: StockReport) -> Markup:
    """Return what could be given up now, and every reason that keeps the rest."""
    prospects = largest_first(report.prospects)
    rows = [_prospect(item) for item in prospects[:MOST_PROSPECTS]]
    titles = ("name", "kind", "size", "would free", "verdict", "why it stays")
    head = [element("th", title, scope="col", class_=_class_of(title)) for title in titles]
    table = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    rest = len(prospects) - MOST_PROSPECTS
    return _section(
        "What could be reclaimed",
        "Every guard was asked about every living copy on these machines. What may go waits for somebody to say so.",
        element("div", table, class_="wide")
        if rows
        else element("p", "Nothing here has a living copy.", class_="none"),
        element("p", f"and {counted(rest, 'smaller one')} that stay", class_="soft") if rest > 0 else Markup(),
    )


def quarantine_section(report: StockReport) -> Markup:
    """Return what was set aside, until when it can be put back."""
    overview = report.overview
    return _section(
        "Quarantine",
        "Set aside, still on disk: it can be restored until it is purged, and frees nothing before.",
        html_table(quarantine_table(overview.quarantined, now=overview.taken_at)),
    )


def promises_section(report: StockReport) -> Markup:
    """Return holds, leases and reservations."""
    overview = report.overview
    now = overview.taken_at
    return _section(
        "Holds, leases and reservations",
        "Kept until released; in use until they end; promised and not yet written.",
        element("h3", "Holds"),
        html_table(hold_table(overview.holds, now=now)),
        element("h3", "Leases"),
        html_table(lease_table(overview.leases, now=now)),
        element("h3", "Reservations"),
        html_table(reservation_table(overview.reservations, now=now)),
    )


def lineage_section(report: StockReport) -> Markup:
    """Return the trees of the largest artifacts: what they were made from, what was made from them."""
    trees = [_tree(lineage_tree(family)) for family in report.families]
    return _section(
        "Lineage of the largest artifacts",
        "What each was made from, and what it was used for.",
        *(trees or [element("p", "No lineage is recorded.", class_="none")]),
    )


def events_section(report: StockReport) -> Markup:
    """Return the newest audit events."""
    return _section("Recent events", "Newest first.", html_table(event_table(report.events)))


def _section(title: str, remark: str, *content: str) -> Markup:
    return element("section", element("h2", title), element("p", remark, class_="soft"), *content)


def _volume(account: VolumeAccount) -> Markup:
    left = f"{format_bytes(account.available_bytes)} of {format_bytes(account.size_bytes)} available"
    caption = element("p", element("strong", account.name), element("span", left, class_="soft"))
    drawn = bar(_segments(account), whole_bytes=account.size_bytes)
    return element("div", caption, drawn, class_="volume", title=display_path(account.mount))


def _segments(account: VolumeAccount) -> tuple[Segment, ...]:
    promised = min(account.reserved_bytes, account.available_bytes)
    return (
        Segment(label="catalogued", style="catalogued", size_bytes=account.catalogued_bytes),
        Segment(label="quarantined", style="quarantined", size_bytes=account.quarantined_bytes),
        Segment(label="unaccounted", style="unaccounted", size_bytes=account.unaccounted_bytes),
        Segment(label="reserved", style="reserved", size_bytes=promised),
        Segment(label="free", style="free", size_bytes=account.available_bytes - promised),
    )


def _states(shares: Sequence[Share], kind: str) -> tuple[Segment, ...]:
    sizes = dict.fromkeys(_STATES, 0)
    for share in shares:
        if share.kind == kind:
            sizes[share.state if share.state in _STATES else "other"] += share.allocated_bytes
    return tuple(Segment(label=state, style=state, size_bytes=size) for state, size in sizes.items())


def _sum(shares: Sequence[Share], kind: str) -> int:
    return sum(share.allocated_bytes for share in shares if share.kind == kind)


def _prospect(item: Prospect) -> Markup:
    reasons = element("ul", *(element("li", reason) for reason in item.reasons)) if item.reasons else Markup()
    return element(
        "tr",
        element("td", item.name, title=display_path(item.path)),
        element("td", item.kind),
        element("td", format_bytes(item.allocated_bytes), class_="number"),
        element("td", format_bytes(item.freed_bytes) if item.may_go else "", class_="number"),
        element("td", item.verdict, class_="goes" if item.may_go else "stays"),
        element("td", reasons),
    )


def _class_of(title: str) -> str:
    return "number" if title in ("size", "would free") else "text"


def _tree(lines: Sequence[str]) -> Markup:
    head, *rest = lines
    return joined((element("h3", head), element("pre", Markup("\n".join(map(escaped, rest))))))
