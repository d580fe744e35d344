"""Channels to an agent on this machine, and what can happen to them on the way."""

import os
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from artifactctl.hosts.probe.frames import MAGIC, Kind
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.wire.bootstrap import command
from artifactctl.hosts.wire.channel import ChannelLost
from artifactctl.hosts.wire.greeting import Manners
from artifactctl.hosts.wire.pipe import PipeChannel

HEADER = struct.Struct(">2sBBBxIII")
BRISK = Manners(start_seconds=20.0, beat_seconds=0.1, silence_seconds=1.5)
"""Both sides notice within moments that they are alone."""


def pipe(words: Sequence[str] = (), *, silence_seconds: float = 60.0, **extra: str) -> PipeChannel:
    """Start an agent, or what pretends to be one."""
    return PipeChannel(
        words or command(sys.executable),
        environment={**os.environ, **extra},
        silence_seconds=silence_seconds,
        end_seconds=0.3 if words else 5.0,
    )


def agent(manners: Manners | None = None, **extra: str) -> RemoteHost:
    """Return this machine, asked through an agent."""
    silence_seconds = manners.silence_seconds if manners else 60.0
    return RemoteHost(pipe(silence_seconds=silence_seconds, **extra), machine="gpu1", manners=manners)


def shell(script: str) -> tuple[str, ...]:
    """Return the words of a login shell that does something before, or instead of, what it was asked to do."""
    return ("/bin/sh", "-c", script, "sh", *command(sys.executable))


@dataclass(slots=True)
class Cut:
    """When a link breaks, in frames from when it is armed; a half is in the middle of the next frame. None: never."""

    out_frames: float | None = None
    in_frames: float | None = None


@dataclass(slots=True)
class BreakingChannel:
    """A link that breaks at a frame boundary, or inside of a frame; beats do not count."""

    inner: PipeChannel
    cut: Cut
    armed: bool = False
    sent: list[Kind] = field(default_factory=list)
    delivered: list[Kind] = field(default_factory=list)
    _came: bytearray = field(default_factory=bytearray)

    def read(self, at_most: int) -> bytes:
        """Return whole frames up to the cut."""
        while True:
            if self.cut.in_frames is not None and len(self.delivered) >= max(0.5, self.cut.in_frames):
                raise self._broken()
            piece = self.inner.read(at_most)
            if not self.armed or not piece or self.cut.in_frames is None:
                return piece
            self._came += piece
            ready = self._up_to_the_cut(self.cut.in_frames)
            if ready:
                return ready

    def _up_to_the_cut(self, cut: float) -> bytes:
        ready = bytearray()
        for frame in self._whole_frames():
            if Kind(frame[3]) is Kind.BEAT:
                ready += frame
                continue
            if len(self.delivered) >= cut:
                raise self._broken()
            self.delivered.append(Kind(frame[3]))
            if cut - len(self.delivered) == -0.5:
                return bytes(ready + frame[: len(frame) // 2])
            ready += frame
        return bytes(ready)

    def _whole_frames(self) -> list[bytes]:
        frames = []
        while len(self._came) >= HEADER.size:
            magic, _, _, _, _, length, _ = HEADER.unpack_from(self._came)
            assert magic == MAGIC
            if len(self._came) < HEADER.size + length:
                break
            frames.append(bytes(self._came[: HEADER.size + length]))
            del self._came[: HEADER.size + length]
        return frames

    def write(self, data: bytes) -> None:
        """Send one frame, half of it, or nothing any more."""
        if not self.armed or Kind(data[3]) is Kind.BEAT:
            self.inner.write(data)
            return
        sent = len(self.sent)
        if self.cut.out_frames is not None and sent + 1 > self.cut.out_frames:
            if self.cut.out_frames - sent == 0.5:
                self.inner.write(data[: len(data) // 2])
            raise self._broken()
        self.sent.append(Kind(data[3]))
        self.inner.write(data)
        if self.cut.out_frames == len(self.sent):
            self.inner.close()

    def _broken(self) -> ChannelLost:
        self.inner.close()
        return ChannelLost("the link broke")

    def close(self) -> None:
        """End it."""
        self.inner.close()

    def said(self) -> str:
        """What the far side complained about."""
        return self.inner.said()


def breaking(cut: Cut, environment: Mapping[str, str] | None = None) -> tuple[RemoteHost, BreakingChannel]:
    """Return a host whose link is to be armed, and the link."""
    channel = BreakingChannel(inner=pipe(**(environment or {})), cut=cut)
    return RemoteHost(channel, machine="gpu1"), channel
