"""A link that breaks at any frame of any act: the outcome is unknown, and the root's journal knows it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from artifactctl.domain.errors import HostUnreachable, OutcomeUnknown
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import JournalEvent, OperationRecord
from artifactctl.hosts.probe.frames import Kind
from artifactctl.hosts.protocol import Host, PutBack, SetAside
from artifactctl.hosts.remote import RemoteHost
from artifactctl.reclaim.recovery import Action, decide
from tests.hosts.act_ground import Ground, managed, picture, plant
from tests.hosts.wire.links import Cut, agent, breaking

CUTS = [
    Cut(out_frames=0),
    Cut(out_frames=0.5),
    Cut(out_frames=1),
    *(Cut(in_frames=count / 2) for count in range(4)),
]
NAMES = [
    "before the request",
    "in the request",
    "behind the request",
    "before the answer",
    "in the answer",
    "behind the answer",
    "in the trailer",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act on operation op1: what comes before it, the act, and the events it may leave behind."""

    prepare: Callable[[Ground], object]
    act: Callable[[Ground], object]
    events: tuple[JournalEvent | None, ...]


def set_aside(ground: Ground) -> None:
    assert ground.set_aside("old") is SetAside.DONE
    ground.host.confirm(ground.root, "op1")


ACTS = {
    "intend": Act(
        prepare=lambda ground: None,
        act=lambda ground: ground.intend("old"),
        events=(None, JournalEvent.INTENDED),
    ),
    "set_aside": Act(
        prepare=lambda ground: ground.intend("old"),
        act=lambda ground: ground.host.set_aside(ground.root, "op1"),
        events=(JournalEvent.INTENDED, JournalEvent.RENAMED),
    ),
    "confirm": Act(
        prepare=lambda ground: ground.set_aside("old"),
        act=lambda ground: ground.host.confirm(ground.root, "op1"),
        events=(JournalEvent.RENAMED, JournalEvent.QUARANTINED),
    ),
    "keep": Act(
        prepare=lambda ground: ground.set_aside("old"),
        act=lambda ground: ground.host.keep(ground.root, "op1", "in use"),
        events=(JournalEvent.RENAMED, JournalEvent.KEPT),
    ),
    "abandon": Act(
        prepare=lambda ground: ground.intend("old"),
        act=lambda ground: ground.host.abandon(ground.root, "op1", "not now"),
        events=(JournalEvent.INTENDED, JournalEvent.ABANDONED),
    ),
    "put_back": Act(
        prepare=set_aside,
        act=lambda ground: ground.host.put_back(ground.root, "op1", to=None, reason="needed"),
        events=(JournalEvent.QUARANTINED, JournalEvent.RESTORED),
    ),
    "put_back elsewhere": Act(
        prepare=set_aside,
        act=lambda ground: ground.host.put_back(
            ground.root, "op1", to=ManagedPath(root=ground.path, relative=b"rescued"), reason="needed"
        ),
        events=(JournalEvent.QUARANTINED, JournalEvent.RESTORED),
    ),
    "begin_purge": Act(
        prepare=set_aside,
        act=lambda ground: ground.host.begin_purge(ground.root, "op1"),
        events=(JournalEvent.QUARANTINED, JournalEvent.PURGING),
    ),
    "purge": Act(
        prepare=lambda ground: ground.condemn("old"),
        act=lambda ground: ground.purge(),
        events=(JournalEvent.PURGING, JournalEvent.PURGED),
    ),
}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A root with one tree in it."""
    made = managed(tmp_path)
    plant(made.at("old"))
    return made


@pytest.fixture(scope="module")
def anew() -> Iterator[RemoteHost]:
    """The machine over another channel."""
    with agent() as host:
        yield host


@pytest.mark.parametrize("cut", CUTS, ids=NAMES)
@pytest.mark.parametrize("name", ACTS)
def test_whatever_a_broken_link_left_is_found_by_its_id_and_brought_to_an_end(
    ground: Ground, anew: RemoteHost, name: str, cut: Cut
) -> None:
    before = picture(ground.at("old"))
    ACTS[name].prepare(ground)
    host, link = breaking(cut)
    with host:
        link.armed = True
        with pytest.raises(OutcomeUnknown, match="gpu1"):
            ACTS[name].act(replace(ground, host=host))

    again = replace(ground, host=anew)
    event = event_of(again)
    assert event in ACTS[name].events
    assert link.sent.count(Kind.REQUEST) <= 1
    if cut.in_frames is not None and cut.in_frames >= 0.5:
        assert event is ACTS[name].events[-1]
    if name != "purge":
        assert [found == before for found in pictures(again)] == [True]
    bring_to_an_end(again)
    assert not any(decide(record).action is not Action.NOTHING for record in anew.operations(again.root))
    if event in (JournalEvent.PURGING, JournalEvent.PURGED):
        assert pictures(again) == []
    else:
        assert [found == before for found in pictures(again)] == [True]


@pytest.mark.parametrize("name", ACTS)
def test_what_was_perhaps_done_can_be_asked_for_again_over_a_new_link(
    ground: Ground, anew: RemoteHost, name: str
) -> None:
    """By whoever has looked: doing it twice leaves what doing it once does, or is refused."""
    before = picture(ground.at("old"))
    ACTS[name].prepare(ground)
    host, link = breaking(Cut(in_frames=0))
    with host:
        link.armed = True
        with pytest.raises(OutcomeUnknown):
            ACTS[name].act(replace(ground, host=host))
    again = replace(ground, host=anew)
    done = event_of(again)

    try:
        outcome = ACTS[name].act(again)
    except Exception as refusal:  # noqa: BLE001 - which one depends on the act
        outcome = type(refusal).__name__

    assert event_of(again) is done
    assert outcome in (None, "HostRefused", SetAside.DONE, PutBack.DONE, PutBack.ABSENT) or name == "purge"
    if name != "purge":
        assert [found == before for found in pictures(again)] == [True]


def event_of(ground: Ground) -> JournalEvent | None:
    """Return the last event of the operation, None when the root does not know it."""
    events = [record.event for record in ground.host.operations(ground.root)]
    assert len(events) <= 1
    return events[0] if events else None


def pictures(ground: Ground) -> list[dict[bytes, tuple]]:
    """Return what stands at every place where the tree can be."""
    places = [ground.at("old"), ground.at("rescued")]
    places += [ground.quarantine(b"op1/content"), ground.quarantine(b"op1.purging/content")]
    return [picture(place) for place in places if os.path.lexists(place)]


def bring_to_an_end(ground: Ground) -> None:
    """Do what recovery does; the second look is taken to be clear."""
    for record in ground.host.operations(ground.root):
        RECOVERY[decide(record).action](ground.host, ground, record)


def _complete_purge(host: Host, ground: Ground, record: OperationRecord) -> None:
    if record.event is not JournalEvent.PURGING:
        host.begin_purge(ground.root, record.operation)
    assert host.purge(ground.root, record.operation).complete


def _second_look(host: Host, ground: Ground, record: OperationRecord) -> None:
    if record.event is JournalEvent.INTENDED:
        host.set_aside(ground.root, record.operation)
    host.confirm(ground.root, record.operation)


def _put_back(host: Host, ground: Ground, record: OperationRecord) -> None:
    place = ManagedPath(root=ground.path, relative=record.restored_to or record.original)
    assert host.put_back(ground.root, record.operation, to=place, reason="recovered") is PutBack.DONE


RECOVERY: dict[Action, Callable[[Host, Ground, OperationRecord], object]] = {
    Action.NOTHING: lambda host, ground, record: None,
    Action.ABANDON: lambda host, ground, record: host.abandon(ground.root, record.operation, "recovered"),
    Action.SECOND_LOOK: _second_look,
    Action.BACK_TO_QUARANTINE: lambda host, ground, record: host.confirm(ground.root, record.operation),
    Action.FINISH_RESTORE: _put_back,
    Action.RECORD_RESTORED: _put_back,
    Action.COMPLETE_PURGE: _complete_purge,
}


def test_a_lost_look_is_no_answer_and_not_an_unknown_outcome(ground: Ground) -> None:
    host, link = breaking(Cut(in_frames=1))
    with host:
        link.armed = True
        with pytest.raises(HostUnreachable) as failure:
            host.operations(ground.root)

    assert not isinstance(failure.value, OutcomeUnknown)


def test_nothing_is_asked_over_a_link_that_is_known_to_be_lost(ground: Ground) -> None:
    host, link = breaking(Cut(out_frames=0))
    with host:
        link.armed = True
        with pytest.raises(OutcomeUnknown):
            ground.host.mirror(ground.path, "holds", b"{}") or host.mirror(ground.path, "holds", b"[]")
        with pytest.raises(HostUnreachable, match="was not begun") as second:
            replace(ground, host=host).intend("old")

    assert not isinstance(second.value, OutcomeUnknown)
    assert ground.host.read_mirror(ground.path, "holds") == b"{}"
