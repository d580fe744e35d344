"""The HTML report: names can do nothing, nothing is loaded, and the same values give the same bytes."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from artifactctl.report.bars import Segment, bar
from artifactctl.report.markup import element
from artifactctl.report.page import page
from artifactctl.report.stock_report import stock_report_payload, stock_report_text
from artifactctl.report.tables import plain_text
from tests.bench.words import words
from tests.report.a_stock_report import a_report
from tests.report.an_overview import GIB, HOSTILE, NOON, an_account, an_overview

ELEMENTS = words(
    """
    html head meta title style body main section div p span strong h1 h2 h3 table thead tbody tr th td ul li pre
    footer svg rect
    """
)


class Reader(HTMLParser):
    """Reads a page as a browser does: every element, every attribute, the text of each element."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


READ = Reader(page(a_report()))


def test_every_element_is_closed_and_is_one_of_ours():
    assert READ.open == []
    assert {tag for tag, _ in READ.elements} <= ELEMENTS


def test_a_hostile_name_is_text_wherever_it_stands():
    shown = [text for text in READ.texts if HOSTILE in text]

    assert len(shown) >= 10
    assert [name for _, attributes in READ.elements for name in attributes if name.startswith("on")] == []


def test_nothing_is_loaded_from_anywhere():
    reaching = {"src", "href", "srcset", "action", "data", "poster", "style", "background", "xlink:href"}

    assert [name for _, attributes in READ.elements for name in attributes if name in reaching] == []
    assert "url(" not in page(a_report())
    assert "@import" not in page(a_report())


def test_the_policy_lets_exactly_this_style_sheet_apply():
    (policy,) = (a["content"] for tag, a in READ.elements if a.get("http-equiv") == "Content-Security-Policy")
    (style,) = re.findall(r"<style>(.*?)</style>", page(a_report()), flags=re.DOTALL)

    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("größe", "größe"), ("a\x1b[31mb", "a\\x1b[31mb"), ("a\udcffb", "a\\xffb"), ("a\u202eb", "a\\u202eb")],
    ids=["letters", "control character", "a byte that is not UTF-8", "right-to-left override"],
)
def test_names_are_shown_as_they_are_or_as_escapes(name, shown):
    text = page(a_report(name))

    text.encode("utf-8")
    assert any(shown in piece for piece in Reader(text).texts)


def test_the_same_values_give_the_same_bytes():
    assert page(a_report()) == page(a_report())


def test_the_page_the_text_and_the_json_tell_the_same_figures():
    report = a_report("data/hs-new")
    text = plain_text(stock_report_text(report))
    payload = stock_report_payload(report)

    assert payload["volumes"][0]["unaccounted_bytes"] == 400 * GIB
    for figures in (READ.texts, [text]):
        assert any("400.00 GiB" in piece for piece in figures)
    assert [item["may_go"] for item in payload["prospects"]] == [True, True, False]
    assert "not_held: python (pid 411) has shard-00007.safetensors open" in text
    assert "not_held: python (pid 411) has shard-00007.safetensors open" in READ.texts


def test_an_empty_catalog_has_a_page_too():
    nothing = an_overview(shares=(), quarantined=(), volumes=(), last_acts={})
    report = a_report(overview=nothing, prospects=(), families=(), events=())

    texts = Reader(page(report)).texts

    assert "Nothing is catalogued yet: `artifactctl scan` finds what is there." in texts
    assert "Nothing is in quarantine." in texts
    assert plain_text(stock_report_text(report)).startswith(f"gpu-1, {NOON:%Y-%m-%d %H:%M} UTC\n")


def widths(svg):
    return [float(width) for width in re.findall(r' width="([0-9.]+)"', svg)]


def test_a_segment_is_as_wide_as_its_share():
    drawn = bar(
        [
            Segment(label="a", style="live", size_bytes=250),
            Segment(label="b", style="free", size_bytes=500),
        ],
        whole_bytes=1000,
    )

    assert widths(drawn) == [250, 500]
    assert 'aria-label="a 250 B, b 500 B"' in drawn


def test_what_holds_a_byte_is_seen_and_nothing_leaves_the_bar():
    drawn = bar(
        [
            Segment(label="all", style="live", size_bytes=10**12),
            Segment(label="little", style="quarantined", size_bytes=1),
            Segment(label="none", style="free", size_bytes=0),
        ],
        whole_bytes=10**12,
    )

    first, second = widths(drawn)
    assert second > 0
    assert first + second <= 1000


def test_more_than_the_whole_is_drawn_in_proportion():
    drawn = bar(
        [Segment(label="a", style="live", size_bytes=300), Segment(label="b", style="free", size_bytes=100)],
        whole_bytes=200,
    )

    assert widths(drawn) == [750, 250]


def test_promised_bytes_are_part_of_what_is_available():
    over = an_account(available_bytes=10 * GIB, reserved_bytes=500 * GIB)
    text = page(a_report(overview=an_overview(volumes=(over,))))

    assert "reserved 10.00 GiB" in text
    assert "free " not in re.findall(r'aria-label="(catalogued[^"]*)"', text)[0]


def test_an_attribute_cannot_be_left():
    assert element("p", 'a"b<c', title='"><img>') == ('<p title="&quot;&gt;&lt;img&gt;">a&quot;b&lt;c</p>')
