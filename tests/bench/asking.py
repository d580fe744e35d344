"""Ask the process of `forking` for one command: a line of JSON with the three streams, answered by two lines.

The first answer is the command's process number, the second its exit code (negative where a signal ended it). Run as a
program (`python -I -S asking.py SOCKET WORD...`) it is an `artifactctl` for shells that starts at once; then it uses
nothing but the standard library, and few modules of that.
"""

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence


def ask(channel: socket.socket, request: Mapping[str, object], streams: Sequence[int]) -> int:
    """Have a command started with `streams` (input, output, errors) and return its process number."""
    line = json.dumps(request).encode("ascii") + b"\n"
    sent = socket.send_fds(channel, [line], list(streams))
    channel.sendall(line[sent:])
    return answer(channel)


def answer(channel: socket.socket) -> int:
    """Return the next number that comes; ConnectionError when the other end is gone."""
    line = b""
    while not line.endswith(b"\n"):
        received = channel.recv(1)
        if not received:
            raise ConnectionError("the process that forks the commands is gone")
        line += received
    return int(line)


def main() -> None:
    """Run the words as a command of artifactctl in this process's place."""
    address, *words = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(address)
        ask(channel, {"words": words, "cwd": os.getcwd(), "environment": dict(os.environ)}, (0, 1, 2))
        code = answer(channel)
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
