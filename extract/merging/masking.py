"""The loss mask: which tokens of a text lie within what the assistant produced."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from extract.merging.last_answers import Span


def mask_of(offsets: Sequence[Span], spans: Sequence[Span]) -> bytes:
    """Return one byte a token, 1 where the token lies wholly in one of the spans.

    `offsets` are the tokens' character ranges in order. A token that reaches over the border of a span was not
    produced like that, and is not learned.
    """
    starts = [start for start, _ in offsets]
    ends = [end for _, end in offsets]
    mask = bytearray(len(offsets))
    for start, end in spans:
        first, last = bisect_left(starts, start), bisect_right(ends, end)
        if first < last:
            mask[first:last] = b"\1" * (last - first)
    return bytes(mask)
