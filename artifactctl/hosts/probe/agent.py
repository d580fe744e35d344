"""The far end of a wire: takes requests from standard input until it ends, answers on standard output.

When the input ends, or nothing is heard for `silence_seconds`, whoever asked is gone: acts come to an end (a purge
between two members), the locks are given up, and the process ends. Nothing of it was ever written to this machine.
"""

from __future__ import annotations

import os
import platform
import select
import signal
import sys
import threading
import time
import traceback
from typing import Any, Dict, Optional

from artifactctl.hosts.probe.exchange import Exchange
from artifactctl.hosts.probe.frames import PROTOCOL, Assembly, Frame, FrameReader, Kind, WireFault, encoded
from artifactctl.hosts.probe.outgoing import Gone, Outgoing
from artifactctl.hosts.probe.session import Session


def main(settings: Dict[str, Any], digest: str) -> None:
    """Serve until the other side is gone; does not return.

    `settings`: beat_seconds, silence_seconds and `asker`, by which the lock names its holder.
    """
    reading, writing = _take_standard_streams()
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asks; here the input ends
    sys.argv = [settings["asker"]]
    outgoing = Outgoing(writing)
    try:
        outgoing.send(Kind.HELLO, 0, encoded(_hello(digest)))
        Agent(reading, outgoing, settings).serve()
    except Gone:
        pass
    except BaseException:  # noqa: BLE001 - its last words, which the other side shows
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)  # without waiting for looks that may hang


def _take_standard_streams() -> "tuple[int, int]":
    """Keep the wire for ourselves: what anything here prints or reads goes elsewhere from now on."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return reading, writing


def _hello(digest: str) -> Dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "digest": digest,
        "python": platform.python_version(),
        "interpreter": sys.executable or "",
        "process": os.getpid(),
        "user": os.geteuid(),
        "names": sys.getfilesystemencoding().lower().replace("-", ""),
    }


class Agent:
    """Reads what is asked and starts an exchange for each request."""

    def __init__(self, reading: int, outgoing: Outgoing, settings: Dict[str, Any]) -> None:
        self._reading = reading
        self._outgoing = outgoing
        self._beat_seconds: float = settings["beat_seconds"]
        self._silence_seconds: float = settings["silence_seconds"]
        self._session = Session(alone_after_seconds=self._silence_seconds)
        self._exchanges: Dict[int, Exchange] = {}
        self._assemblies: Dict[int, Assembly] = {}

    def serve(self) -> None:
        """Take frames until there are no more; then come to an end."""
        threading.Thread(target=self._beat, daemon=True).start()
        reader = FrameReader(self._read)
        try:
            while True:
                frame = reader.next()
                if frame is None:
                    break
                self._take(frame)
        except WireFault as fault:
            print(f"the agent was asked nonsense: {fault}", file=sys.stderr, flush=True)
        finally:
            self._leave()

    def _read(self, at_most: int) -> bytes:
        """Return what comes, b"" also when nothing does for too long: then the other side is gone."""
        ready, _, _ = select.select([self._reading], [], [], self._silence_seconds)
        return os.read(self._reading, at_most) if ready else b""

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.REQUEST:
            assembly = self._assemblies.setdefault(frame.request, Assembly())
            payload = assembly.add(frame)
            if payload is not None:
                del self._assemblies[frame.request]
                self._begin(frame.request, payload)
            return
        exchange: Optional[Exchange] = self._exchanges.get(frame.request)
        if exchange is not None and frame.kind is Kind.CREDIT:
            exchange.give_credit()
        elif exchange is not None and frame.kind is Kind.STOP:
            exchange.stop()

    def _begin(self, number: int, payload: bytes) -> None:
        running = {key: each for key, each in self._exchanges.items() if each.thread.is_alive()}
        self._exchanges = running
        running[number] = exchange = Exchange(number, payload, self._session, self._outgoing)
        exchange.thread.start()

    def _beat(self) -> None:
        try:
            while True:
                time.sleep(self._beat_seconds)
                self._outgoing.send(Kind.BEAT, 0)
        except Gone:
            return

    def _leave(self) -> None:
        self._outgoing.is_over.set()
        for exchange in self._exchanges.values():
            exchange.stop()
        for exchange in self._exchanges.values():
            if exchange.changes:
                exchange.thread.join()
        self._session.close()
