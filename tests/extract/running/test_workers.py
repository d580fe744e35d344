"""Several workers, and workers that die: every share is made once, by whoever has it, and the same shards come out."""

import random
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.api.formats import Codec
from artifactctl.api.shares import DividedWork
from artifactctl.catalog import LeaseLost
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import Refused
from artifactctl.inventory.leasing import TERM
from extract.running import run as running
from extract.shards import open_shard
from extract.shards.aside import AsideFile
from extract.shards.packing import PackedDump
from tests.bench.clocks import FixedClock
from tests.extract.conftest import wait_until
from tests.extract.running.arithmetic import ArithmeticEngine, shards_of
from tests.extract.running.site import Site

KILLS = 4
SLOW = 0.02
"""Seconds a record: a run takes more than a second, and is killed within it."""


def require_only_whole_shards(folder: Path) -> int:
    """Return how many there are."""
    shards = sorted(folder.glob("shard-*.safetensors"))
    for path in shards:
        with open_shard(path) as shard:
            assert list(shard.problems()) == []
    return len(shards)


@pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])
def test_killed_at_random_moments_the_runs_together_make_the_same_shards_as_one_that_was_not(
    site: Site, codec: Codec
) -> None:
    site.run(out=site.root / "undisturbed", codec=codec)
    moments = random.Random(codec.value)
    for _ in range(KILLS):
        with site.start(delay_seconds=SLOW, codec=codec) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5 + moments.random() * 1.5)
            process.kill()
        require_only_whole_shards(site.out)

    site.run(codec=codec)

    assert shards_of(site.out) == shards_of(site.root / "undisturbed")
    assert list(site.out.glob("*.partial")) == []
    assert site.json("reservation", "ls")["reservations"] == []
    dump = PackedDump(site.out)
    assert sorted(record.index for record in dump) == list(range(60))
    dump.close()


def test_a_run_that_is_asked_to_stop_says_how_far_it_came_and_leaves_nothing_half_done(site: Site) -> None:
    with site.start(delay_seconds=SLOW) as process:
        assert process.stdout.readline() == "ready\n"
        wait_until(lambda: list(site.out.glob("shard-*.safetensors")))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "stopping after the record in hand" in said
    assert require_only_whole_shards(site.out) >= 1
    assert list(site.out.glob("*.partial")) == []
    assert site.json("reservation", "ls")["reservations"] == []
    assert site.run().records == 60


def test_two_workers_share_the_work_and_make_the_same_shards_as_one(site: Site) -> None:
    site.run(out=site.root / "alone")
    with site.start(delay_seconds=SLOW) as first, site.start(delay_seconds=SLOW) as second:
        said = [worker.communicate(timeout=120)[1] for worker in (first, second)]

    assert (first.returncode, second.returncode) == (0, 0), said
    assert shards_of(site.out) == shards_of(site.root / "alone")
    assert len(site.json("show", str(site.out))["runs"]) == 1
    assert site.json("reservation", "ls")["reservations"] == []


def test_a_worker_takes_over_what_a_killed_one_beside_it_had(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "POLL_SECONDS", 0.05)
    engine = ArithmeticEngine(delay_seconds=SLOW)
    with site.start(delay_seconds=25 * SLOW) as killed:
        wait_until(lambda: list(site.out.glob("shard-*.safetensors")))
        beside = threading.Thread(target=lambda: site.run(engine))
        beside.start()
        wait_until(lambda: len(engine.computed) > 10)
        killed.kill()
        beside.join(timeout=120)

    assert not beside.is_alive()
    assert site.run().records == 60
    assert list(site.out.glob("*.partial")) == []


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


def divided(site: Site, session, shares: int) -> DividedWork:  # type: ignore[no-untyped-def]
    folder = site.root / "shared"
    folder.mkdir(exist_ok=True)
    try:
        known = session.artifact(str(folder))
    except Exception:  # noqa: BLE001  whichever error says that it is not known yet
        known = session.register(folder, kind=ArtifactKind.HIDDEN_STATES, name="shared", building=True)
    return session.divide(known, fingerprint={"corpus": "1"}, shares=shares)


def test_shares_are_given_out_once_and_the_last_one_when_all_others_are_finished(site: Site) -> None:
    with site.open() as session, site.open() as other:
        work, elsewhere = divided(site, session, 3), divided(site, other, 3)
        first, second = work.claim(), elsewhere.claim()
        assert first is not None
        assert second is not None
        assert (first.share.number, second.share.number) == (0, 1)
        assert work.claim() is None
        first.finish(records=1, tokens=10, size_bytes=100)
        assert work.claim() is None
        second.finish(records=1, tokens=10, size_bytes=100)
        last = work.claim()
        assert last is not None
        assert last.share.number == 2
        assert elsewhere.claim() is None


def test_a_claim_that_ran_out_goes_to_another_worker_and_its_holder_can_change_nothing_any_more(
    site: Site, clock: FixedClock
) -> None:
    with site.open(clock) as session, site.open(clock) as other:
        late = divided(site, session, 2).claim()
        assert late is not None
        clock.advance(TERM - timedelta(seconds=1))
        assert divided(site, other, 2).claim() is None
        clock.advance(timedelta(seconds=2))

        taken = divided(site, other, 2).claim()

        assert taken is not None
        assert taken.share.number == late.share.number == 0
        assert taken.share.fence > late.share.fence
        with pytest.raises(LeaseLost, match="share 0 belongs to another worker by now"):
            late.prove({})
        with pytest.raises(LeaseLost):
            late.finish(records=1, tokens=1, size_bytes=1)
        taken.finish(records=1, tokens=10, size_bytes=100)


def test_a_worker_that_claims_its_own_share_again_can_not_finish_it_by_the_old_claim(
    site: Site, clock: FixedClock
) -> None:
    with site.open(clock) as session:
        work = divided(site, session, 2)
        late = work.claim()
        clock.advance(TERM + timedelta(seconds=1))
        again = work.claim()

        assert late is not None
        assert again is not None
        assert (again.share.number, again.share.owner) == (late.share.number, late.share.owner)
        with pytest.raises(LeaseLost):
            late.finish(records=1, tokens=1, size_bytes=1)
        again.finish(records=1, tokens=10, size_bytes=100)


def test_what_a_late_worker_has_aside_is_taken_away_so_that_it_can_not_publish(site: Site) -> None:
    site.out.mkdir()
    late = AsideFile(site.out / "shard-00000.safetensors", 4096, mark=".0")

    site.run()

    with pytest.raises(FileNotFoundError):
        late.publish(10)
    assert require_only_whole_shards(site.out) > 3


def test_a_division_that_is_there_is_joined_and_not_made_again(site: Site) -> None:
    with site.open() as session:
        first = divided(site, session, 3).division
        again = session.divide(session.artifact("shared"), fingerprint={"corpus": "2"}, shares=9).division

    assert again == first


def test_a_worker_whose_share_was_taken_over_is_told(site: Site) -> None:
    with site.open() as session:
        held = divided(site, session, 2).claim()
        assert held is not None
        held._renewal.lost = LeaseLost("share 0 belongs to another worker by now")
        with pytest.raises(Refused, match="another worker"):
            held.check()
