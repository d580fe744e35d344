"""Copies between machines behind sshd: faithful, hashed on the far side, resumed after a cut, and counted only then."""

import os
import threading
import time
from pathlib import Path

import pytest

from artifactctl.archiving.failures import NotTheSameBytes
from artifactctl.archiving.restoring import old_place, restorable, restore
from artifactctl.archiving.unfinished import unfinished_copies
from artifactctl.domain.artifacts import ReplicaState, VerifyLevel
from artifactctl.domain.errors import Busy, HostUnreachable
from artifactctl.inventory.roots import add_root
from tests.archiving.ground import picture
from tests.system.archive_lab import ACTOR, Lab, laboratory, seen

pytestmark = pytest.mark.system

AGENT = "zlib"
"""A word of the agent's own command line."""
SMALL_FILES = 300
"""More than are read back together."""


@pytest.fixture
def lab(machines, ssh, tmp_path):
    """Machines `alpha` and `beta`, and `hidden` on alpha."""
    with laboratory(tmp_path, ssh, {name: machines(name) for name in ("alpha", "beta")}) as made:
        yield made


def at(lab: Lab, machine: str, name: bytes = b"hidden") -> bytes:
    return seen(lab.machines[machine], name)


def aside(lab: Lab, machine: str) -> list[str]:
    place = os.fsdecode(seen(lab.machines[machine], ".artifactctl/archiving"))
    return sorted(os.listdir(place)) if os.path.exists(place) else []


def many_files(lab: Lab, name: str = "many") -> str:
    """Put many small files and a large one on alpha and register them."""
    folder = Path(os.fsdecode(at(lab, "alpha", name.encode())))
    folder.mkdir()
    for number in range(SMALL_FILES):
        (folder / f"a-{number:04}").write_bytes(os.urandom(1000 + number))
    (folder / "z-large").write_bytes(os.urandom(4_000_000))
    lab.add(name, "alpha", name.encode())
    return name


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_copy_goes_from_machine_to_machine_and_back_byte_for_byte(lab):
    os.setxattr(at(lab, "alpha", b"hidden/data_0.bin"), "trusted.note", b"kept by nobody")
    before = picture(at(lab, "alpha"))

    made = lab.archive("beta")
    copied = picture(at(lab, "beta"))
    blocks = os.stat(at(lab, "beta", b"hidden/sparse")).st_blocks * 512
    attributes = os.listxattr(at(lab, "beta", b"hidden/data_0.bin"))
    with lab.catalog.writing(ACTOR, lab.now()) as writing:  # as if it had been purged
        writing.change_state(lab.replica("alpha").replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.GONE)
    lab.machines["alpha"].inside("rm", "-r", "/run/data/root/hidden")
    work = lab.work()
    place = old_place(work, lab.known())
    back = restore(work, restorable(work, lab.known(), towards=place.root), place)

    assert made.is_verified
    assert made.destination.typed == b"beta:/run/data/root/hidden"
    assert made.next_steps == ("artifactctl reclaim alpha:/run/data/root/hidden --dry-run",)
    assert copied == before
    assert blocks < 1_000_000, "holes stay holes"
    assert "trusted.note" not in attributes
    assert back.is_verified
    assert picture(at(lab, "alpha")) == before
    assert lab.replica("beta").verified_level is VerifyLevel.DIGESTS
    assert [host for action, host in lab.actions() if action == "archive.done"] == ["beta", "alpha"]
    assert aside(lab, "alpha") == aside(lab, "beta") == []


def test_this_machine_sends_and_fetches_as_well(lab, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    add_root(lab.own, lab.catalog, bytes(own), name="own", now=lab.now(), actor=ACTOR)

    fetched = lab.archive("own")
    with lab.catalog.writing(ACTOR, lab.now()) as writing:
        writing.change_state(lab.replica("alpha").replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.MISSING)
    sent = lab.archive("beta")

    assert fetched.is_verified
    assert sent.is_verified
    assert (sent.source.is_elsewhere, sent.destination.is_elsewhere) == (False, True)
    assert picture(bytes(own) + b"/hidden") == picture(at(lab, "beta"))


FAULTS = {
    "killed sshd": (lambda machine: machine.kill_sshd(), lambda machine: machine.start_sshd()),
    "frozen": (lambda machine: machine.freeze(), lambda machine: machine.thaw()),
    "partition": (lambda machine: machine.cut(), lambda machine: machine.mend()),
}


@pytest.mark.parametrize("side", ["beta", "alpha"])
@pytest.mark.parametrize(("fault", "cure"), FAULTS.values(), ids=FAULTS)
def test_a_copy_whose_link_is_cut_is_gone_on_with_and_counts_only_at_its_end(lab, side, fault, cure):
    name, machine = many_files(lab), lab.machines[side]
    passed = []

    def strike(size_bytes):
        passed.append(size_bytes)
        if len(passed) == SMALL_FILES - 5:
            fault(machine)

    with pytest.raises(HostUnreachable):
        lab.archive("beta", name, progress=strike)
    states = lab.states(name)
    cure(machine)
    until(lambda: not any(each.running(AGENT) for each in lab.machines.values()))
    (left,) = unfinished_copies(lab.work(), lab.root("beta"))
    made = lab.archive("beta", name)

    assert states == {"alpha": ReplicaState.LIVE, "beta": ReplicaState.ARCHIVING}
    assert left.record.files_done >= 256
    assert made.is_verified
    assert made.sent_bytes <= made.size_bytes - left.record.done_bytes
    assert any("going on with the copy" in sentence for sentence in lab.said)
    assert picture(at(lab, "beta", b"many")) == picture(at(lab, "alpha", b"many"))
    assert lab.states(name) == {"alpha": ReplicaState.LIVE, "beta": ReplicaState.LIVE}


def test_a_byte_that_changed_on_the_far_side_is_found_by_reading_it_back_there(lab):
    name = many_files(lab)
    spoilt = []

    def spoil(size_bytes):
        for folder in aside(lab, "beta"):
            file = at(lab, "beta", b".artifactctl/archiving/" + folder.encode() + b"/content/a-0007")
            if not spoilt and os.path.exists(file) and os.stat(file).st_size == 1007:
                with open(file, "r+b") as shard:
                    shard.write(bytes([shard.read(1)[0] ^ 1]).rjust(1))
                    spoilt.append(file)

    with pytest.raises(NotTheSameBytes, match="a-0007 is not the same on the far side"):
        lab.archive("beta", name, progress=spoil)
    states = lab.states(name)
    again = lab.archive("beta", name)

    assert spoilt
    assert states["beta"] is ReplicaState.ARCHIVING
    assert again.is_verified
    assert picture(at(lab, "beta", b"many")) == picture(at(lab, "alpha", b"many"))


def test_two_at_once_to_the_same_place_do_not_meet(lab):
    name = many_files(lab)
    refused = []

    def meanwhile(size_bytes):
        if not refused:
            with pytest.raises(Busy) as busy:
                lab.archive("beta", name)
            refused.append(busy.value)

    assert lab.archive("beta", name, progress=meanwhile).is_verified
    assert "is being made right now" in refused[0].message


def test_the_rate_is_kept_to(lab):
    began = time.monotonic()

    made = lab.archive("beta", bandwidth_bytes=1_500_000)

    assert made.is_verified
    assert time.monotonic() - began >= made.sent_bytes / 1_500_000


def test_two_machines_archive_to_each_other_at_the_same_time(lab):
    other = Path(os.fsdecode(at(lab, "beta", b"other")))
    other.mkdir()
    (other / "file").write_bytes(os.urandom(2_000_000))
    lab.add("other", "beta", b"other")
    made = {}

    def copy(name: str, to: str) -> None:
        made[name] = lab.archive(to, name)

    threads = [threading.Thread(target=copy, args=pair) for pair in (("hidden", "beta"), ("other", "alpha"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)

    assert {name: each.is_verified for name, each in made.items()} == {"hidden": True, "other": True}
    for name in ("hidden", "other"):
        assert set(lab.states(name).values()) == {ReplicaState.LIVE}
        assert picture(at(lab, "alpha", name.encode())) == picture(at(lab, "beta", name.encode()))
