"""An agent that greets as it should and then misbehaves: `python -m tests.hosts.wire.bad_peer WAY`."""

import os
import struct
import sys
import time
from collections.abc import Callable

from artifactctl.hosts.probe.frames import MAGIC, PROTOCOL, FrameReader, Kind, Tally, encoded, packed
from artifactctl.hosts.wire import packing

HEADER = struct.Struct(">2sBBBxIII")
FREE = encoded({"available_bytes": 4096})


def send(kind: Kind, payload: bytes, request: int = 1) -> None:
    """Send a whole message."""
    for frame in packed(kind, request, payload):
        os.write(1, frame)


def trailer(*messages: bytes) -> bytes:
    """Return the trailer that vouches for them."""
    tally = Tally()
    for message in messages:
        tally.add(message)
    return tally.trailer()


def no_trailer() -> None:
    send(Kind.ANSWER, FREE)


def half_an_answer() -> None:
    os.write(1, b"".join(packed(Kind.ANSWER, 1, FREE))[:-5])


def wrong_trailer() -> None:
    send(Kind.ANSWER, FREE)
    send(Kind.TRAILER, trailer(FREE, FREE))


def only_a_trailer() -> None:
    send(Kind.TRAILER, trailer())


def two_answers() -> None:
    send(Kind.ANSWER, FREE)
    send(Kind.ANSWER, FREE)
    send(Kind.TRAILER, trailer(FREE, FREE))


def garbage_length() -> None:
    os.write(1, HEADER.pack(MAGIC, PROTOCOL, Kind.ANSWER, 1, 1, 0xFFFFFFFF, 0) + b"x" * 1000)


def another_version() -> None:
    os.write(1, HEADER.pack(MAGIC, PROTOCOL + 1, Kind.ANSWER, 1, 1, 0, 0))


def a_prompt() -> None:
    os.write(1, b"user@gpu1:~$ " * 10)


def more_than_asked() -> None:
    for _ in range(10_000):
        send(Kind.ITEMS, encoded([]))


def no_value() -> None:
    send(Kind.ANSWER, b"J{")
    send(Kind.TRAILER, trailer(b"J{"))


def silence() -> None:
    time.sleep(60)


WAYS: dict[str, Callable[[], None]] = {
    way.__name__: way
    for way in (
        no_trailer,
        half_an_answer,
        wrong_trailer,
        only_a_trailer,
        two_answers,
        garbage_length,
        another_version,
        a_prompt,
        more_than_asked,
        no_value,
        silence,
    )
}


def main(way: str) -> None:
    """Greet, take one request, and misbehave."""
    os.write(1, b"\nartifactctl-ready 3.11.0\n")
    coming = sys.stdin.buffer
    coming.read(int(coming.readline()))
    hello = {"protocol": PROTOCOL, "digest": packing.digest(), "python": "3.11.0", "names": "utf8", "process": 1}
    send(Kind.HELLO, encoded(hello), request=0)
    FrameReader(lambda at_most: os.read(0, at_most)).next()
    WAYS[way]()


if __name__ == "__main__":
    main(sys.argv[1])
