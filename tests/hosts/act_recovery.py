"""What each act rests on, the points inside it, and how whatever is left at one of them is brought to an end."""

from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.probe import points
from artifactctl.hosts.protocol import PutBack, SetAside

from .act_ground import picture

BEFORE = {
    "intend": lambda ground: None,
    "set-aside": lambda ground: ground.intend("old"),
    "put-back": lambda ground: (ground.set_aside("old"), ground.host.confirm(ground.root, "op1")),
    "begin-purge": lambda ground: (ground.set_aside("old"), ground.host.confirm(ground.root, "op1")),
    "purge": lambda ground: ground.condemn("old"),
}
STEPS = [
    (act, point)
    for act in BEFORE
    for point in points.POINTS
    if point.startswith(act + ":") or (point.startswith("journal:") and act != "journal")
]


def recover(ground, act, before):
    """Check that the journal says where the bytes are, and complete or undo the act. `before`: the tree as it was."""
    found = {record.operation: record for record in ground.host.operations(ground.root)}
    if act == "intend" and "op1" not in found:
        assert picture(ground.at("old")) == before
        assert ground.set_aside("old") is SetAside.DONE  # the same name can be used again
        return
    record = found["op1"]
    assert record.manifest_intact or record.event in (JournalEvent.PURGED, JournalEvent.RESTORED)
    if act == "purge":
        recover_purge(ground, record)
    else:
        recover_whole(ground, record, before)


def recover_whole(ground, record, before):
    """The tree is whole in exactly one of its places, as recorded, and can be put back from there."""
    assert record.at_original != (record.in_quarantine or record.in_purging)
    assert record.original_matches or record.quarantine_matches
    if record.event in (JournalEvent.INTENDED, JournalEvent.RESTORED) and record.at_original:
        assert picture(ground.at("old")) == before
        return
    if record.in_purging:
        assert picture(ground.content()) == before
        assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.PURGING
        ground.host.begin_purge(ground.root, "op1")
        assert ground.purge().complete
        return
    assert ground.host.put_back(ground.root, "op1", to=None, reason="recovery") is PutBack.DONE
    assert picture(ground.at("old")) == before
    assert ground.record().event is JournalEvent.RESTORED


def recover_purge(ground, record):
    if record.event is JournalEvent.PURGED:
        assert not any((record.in_purging, record.in_quarantine, record.at_original))
        return
    assert record.event is JournalEvent.PURGING
    assert record.in_purging
    assert ground.purge().complete
    assert ground.record().event is JournalEvent.PURGED
