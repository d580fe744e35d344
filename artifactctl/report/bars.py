"""Bars in SVG, drawn by nobody else: one row of segments each, as wide as the page allows."""

from collections.abc import Sequence
from dataclasses import dataclass

from artifactctl.report.markup import Markup, element, joined
from artifactctl.report.sizes import format_bytes

_WIDTH, _HEIGHT = 1000, 16
_NARROWEST = 3
"""Of a thousand: what holds a byte is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of a bar. `style` is a class of the page's style sheet."""

    label: str
    style: str
    size_bytes: int


def bar(segments: Sequence[Segment], *, whole_bytes: int) -> Markup:
    """Return the segments side by side; `whole_bytes` is as wide as the bar, or their sum where that is more."""
    shown = [segment for segment in segments if segment.size_bytes > 0]
    whole = max(whole_bytes, sum(segment.size_bytes for segment in shown), 1)
    spoken = ", ".join(_words(segment) for segment in shown) or "empty"
    wished = [max(_WIDTH * segment.size_bytes / whole, _NARROWEST) for segment in shown]
    squeeze = min(1.0, _WIDTH / max(sum(wished), 1))
    left = 0.0
    rectangles = []
    for segment, width in zip(shown, (wish * squeeze for wish in wished), strict=True):
        rectangles.append(
            element(
                "rect",
                element("title", _words(segment)),
                class_=segment.style,
                x=f"{left:.1f}",
                y=0,
                width=f"{width:.1f}",
                height=_HEIGHT,
            )
        )
        left += width
    return element(
        "svg",
        *rectangles,
        class_="bar",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=spoken,
    )


def legend(segments: Sequence[Segment]) -> Markup:
    """Return what the colours mean."""
    swatch = element("rect", width=12, height=12)
    entries = [
        element("span", element("svg", swatch, class_=f"swatch {segment.style}", viewBox="0 0 12 12"), segment.label)
        for segment in segments
    ]
    return element("p", joined(entries), class_="legend")


def _words(segment: Segment) -> str:
    return f"{segment.label} {format_bytes(segment.size_bytes)}"
