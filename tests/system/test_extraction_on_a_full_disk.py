"""An extraction on a volume that is too small, or fills up while it runs: refused, paused, stopped, never torn."""

import json
import threading
from pathlib import Path

import pytest

from artifactctl.domain.errors import Refused
from extract.merging.manifest import Recipe
from extract.merging.merge import merge
from extract.merging.preparing import Limits
from extract.merging.sources import Source
from extract.merging.tokenization import CorpusTokenizer
from extract.running import room
from extract.running.outcomes import Extracted, Stopped
from extract.shards import open_shard
from tests.bench.volumes import FilesystemKind, Volume, fill_with_bytes
from tests.extract.conftest import tiny, tiny_folder, wait_until  # noqa: F401  fixtures
from tests.extract.running.arithmetic import ArithmeticEngine, facts_with, shards_of
from tests.extract.running.site import Site, make_site
from tests.extract.texts import some_conversations

pytestmark = pytest.mark.system

MIB = 2**20
SHARD_BYTES = 2 * MIB
AT_ONCE = "min_age: 0s, quiet_time: 0s"


@pytest.fixture
def site(volumes, tmp_path: Path, tiny: CorpusTokenizer) -> Site:  # noqa: F811
    volume: Volume = volumes(FilesystemKind.EXT4)
    return make_site(tmp_path, volume.mount / "scratch", tiny, chats=some_conversations(200, seed=3))


def take_away(filler: Path) -> None:
    for path in filler.iterdir():
        path.unlink()


def require_whole(folder: Path) -> int:
    shards = sorted(folder.glob("shard-*.safetensors"))
    for path in shards:
        with open_shard(path) as shard:
            assert list(shard.problems()) == []
    assert not (folder / "manifest.json").exists()
    return len(shards)


def test_a_run_that_does_not_fit_is_refused_before_anything_is_written_and_says_what_to_do(site: Site) -> None:
    fill_with_bytes(_volume(site), leave_bytes=6 * MIB)

    with pytest.raises(Refused) as refused:
        site.run(shard_bytes=SHARD_BYTES)

    assert "more on" in refused.value.message
    assert "artifactctl rescue" in refused.value.remedy
    assert not site.out.exists()
    assert {each["kind"] for each in site.json("ls")["artifacts"]} == {"response_set", "merged_corpus"}
    assert site.json("reservation", "ls")["reservations"] == []


def test_a_run_on_a_volume_that_fills_up_waits_between_two_shards_and_goes_on_when_there_is_room(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LOOK_EVERY_SECONDS", 0.05)
    site.run(out=site.root / "undisturbed", shard_bytes=SHARD_BYTES)
    (shard,) = {path.stat().st_size for path in [site.root / "undisturbed" / "shard-00000.safetensors"]}
    done: list[Extracted] = []
    engine = ArithmeticEngine(delay_seconds=0.01)
    worker = threading.Thread(
        target=lambda: done.append(site.run(engine, shard_bytes=SHARD_BYTES, stop_below_bytes=1)), daemon=True
    )
    worker.start()
    wait_until(lambda: site.events("shard") and list(site.out.glob("shard-*.safetensors")))
    filler = fill_with_bytes(_volume(site), leave_bytes=shard // 2)
    wait_until(lambda: site.events("paused"))
    assert not done
    whole = require_whole(site.out)
    (paused,) = site.events("paused")
    assert paused["headroom_bytes"] < paused["room_bytes"] <= SHARD_BYTES
    assert "to make room: " in paused["message"]
    assert "artifactctl re" in paused["message"]

    take_away(filler)
    worker.join(timeout=120)

    assert [each.records for each in done] == [200]
    assert whole < len(shards_of(site.out))
    assert shards_of(site.out) == shards_of(site.root / "undisturbed")
    assert site.events("resumed")


def test_below_the_hard_mark_a_run_stops_with_whole_shards_and_goes_on_later(site: Site) -> None:
    engine = ArithmeticEngine(delay_seconds=0.01)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            site.run(engine, shard_bytes=SHARD_BYTES, stop_below_bytes=4 * MIB)
        except Stopped as stopped:
            caught.append(stopped)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    wait_until(lambda: site.events("shard"))
    filler = fill_with_bytes(_volume(site), leave_bytes=MIB)
    worker.join(timeout=120)

    (stopped,) = caught
    assert isinstance(stopped, Stopped)
    assert int(stopped.exit_code) == 5
    assert "less than the hard mark of 4.00 MiB" in stopped.message
    assert "goes on from there" in stopped.remedy
    assert require_whole(site.out) >= 1
    assert list(site.out.glob("*.partial")) == []
    assert site.json("reservation", "ls")["reservations"] == []
    take_away(filler)
    assert site.run(shard_bytes=SHARD_BYTES).records == 200


@pytest.fixture
def superseded(site: Site) -> Site:
    """`old` has a verified successor, `new`; the volume is nearly full."""
    site.run(out=site.root / "old", name="old", shard_bytes=SHARD_BYTES)
    site.run(
        ArithmeticEngine(facts_with(model_revision="2")), out=site.root / "new", name="new", shard_bytes=SHARD_BYTES
    )
    site.command("supersede", "old", "--by", "new")
    site.command("verify", "new")
    return site


def refused(site: Site) -> str:
    with pytest.raises(Refused) as refusal:
        site.run(ArithmeticEngine(facts_with(model_revision="3")), shard_bytes=SHARD_BYTES)
    return refusal.value.remedy


def set_policy(site: Site, words: str) -> None:
    policy = site.folder / "policy.yaml"
    policy.write_text(
        "schema: artifactctl/policy/v1\nname: sets\ndescription: What is superseded.\n"
        f"defaults: {{action: quarantine, quarantine: 7d, {words}}}\nlimits: {{max_bytes: 1TiB, max_artifacts: 9}}\n"
        "rules: [{name: superseded, description: Replaced., match: {superseded: true, successor_verified: true}}]\n"
    )
    for folder in (site.folder, site.root):  # where commands run, and where the stages do
        folder.joinpath("artifactctl.toml").write_text(f'[policy]\nfiles = ["{policy}"]\n')


def test_what_may_go_is_named_with_the_words_that_make_room_and_they_do(superseded: Site) -> None:
    site = superseded
    set_policy(site, AT_ONCE)
    fill_with_bytes(_volume(site), leave_bytes=8 * MIB)
    taken_bytes = site.json("show", "old")["allocated_bytes"]

    words, _, explained = refused(site).partition("    ")

    assert words.startswith("artifactctl reclaim --purge-now --for ")
    assert "old: " in explained
    plan = json.loads(Path(words.split()[-1]).read_text())
    assert plan["verdict"] == "fits_after_reclaim"
    assert [each["name"] for each in plan["reclaim"]] == ["old"]
    done = site.json(*words.split()[1:], "--yes", "--reason", "room")
    assert [(step["name"], step["outcome"]) for step in done["steps"]] == [("old", "purged")]
    assert done["steps"][0]["measured_freed_bytes"] >= taken_bytes - MIB
    engine = ArithmeticEngine(facts_with(model_revision="3"))
    assert site.run(engine, shard_bytes=SHARD_BYTES).records == 200


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("min_age: 30d, quiet_time: 0s", "nothing catalogued may go now: none is old enough before 20"),
        ("min_age: 0s, quiet_time: 15m", "nothing catalogued may go now: old stays: "),
    ],
    ids=["too-young", "changed-a-moment-ago"],
)
def test_what_may_not_go_yet_is_named_as_such_and_no_command_that_frees_nothing(
    superseded: Site, rules: str, said: str
) -> None:
    set_policy(superseded, rules)
    fill_with_bytes(_volume(superseded), leave_bytes=8 * MIB)

    remedy = refused(superseded)

    assert said in remedy
    assert "old" in remedy
    assert "artifactctl reclaim" not in remedy
    assert "artifactctl rescue" in remedy


def test_what_is_in_quarantine_is_said_to_be_free_when_its_grace_is_over(superseded: Site) -> None:
    site = superseded
    set_policy(site, AT_ONCE)
    site.command("reclaim", "old", "--yes", "--reason", "room")
    fill_with_bytes(_volume(site), leave_bytes=8 * MIB)

    assert "none is out of quarantine before 20" in refused(site)


def test_a_run_that_waits_names_a_command_after_which_it_goes_on(
    superseded: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LOOK_EVERY_SECONDS", 0.05)
    site = superseded
    set_policy(site, AT_ONCE)
    done: list[Extracted] = []
    engine = ArithmeticEngine(facts_with(model_revision="3"), delay_seconds=0.01)
    worker = threading.Thread(
        target=lambda: done.append(site.run(engine, shard_bytes=SHARD_BYTES, stop_below_bytes=1)), daemon=True
    )
    worker.start()
    wait_until(lambda: len(site.events("shard")) > 10 and list(site.out.glob("shard-*.safetensors")))
    fill_with_bytes(_volume(site), leave_bytes=MIB)
    wait_until(lambda: site.events("paused"))
    words = site.events("paused")[0]["message"].partition("to make room: ")[2].partition("    ")[0]

    site.json(*words.split()[1:], "--yes", "--reason", "room")
    worker.join(timeout=120)

    assert [each.records for each in done] == [200]


def _volume(site: Site) -> Volume:
    return Volume(kind=FilesystemKind.EXT4, mount=site.root.parent, image=None)


@pytest.mark.parametrize("left_bytes", [0, 48 * 1024])
def test_a_merge_that_meets_a_full_volume_is_refused_and_nothing_of_it_stays(
    site: Site,
    tiny: CorpusTokenizer,  # noqa: F811
    left_bytes: int,
) -> None:
    source = site.root / "responses.jsonl"
    before = sorted(path.name for path in site.root.iterdir())
    held_free = _volume(site).mount / "held-free"
    held_free.write_bytes(bytes(left_bytes))
    fill_with_bytes(_volume(site))
    held_free.unlink()
    recipe = Recipe(tokenizer=tiny, limits=Limits(), seed=2)

    with pytest.raises(Refused) as refused:
        merge([Source(path=source)], site.root / "other", recipe, progress=lambda _: None)

    assert refused.value.message == f"{site.root} has no room left for other; nothing of it stays"
    assert sorted(path.name for path in site.root.iterdir()) == before
