"""`plan`, `reservation`, `du`, `df`: the founding question, and what is on the disk."""

import json
import os
import struct
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from artifactctl.capacity.saved import capacity_plan_from_json
from artifactctl.cli.clock import SystemClock
from tests.cli.stock import MIB, Shop
from tests.fakes.machine import FakeMachine

TIB = 2**40
FOUNDING = ("--tokens", "87.8M", "--model", "kimi-k2.5", "--layers", "2,30,58")


def payload(result, code=0):
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture
def big(tmp_path):
    """A machine with one empty 12 TiB volume and no catalog."""
    (tmp_path / "volume").mkdir()
    return Shop(folder=tmp_path, host=FakeMachine(size_bytes=12 * TIB, filesystem_type="xfs"))


def test_the_founding_extraction_fits_and_nothing_has_to_go(big):
    plan = payload(big.run("plan", "extraction", *FOUNDING, "--volume", "/", "--json"))

    assert plan["schema"] == "artifactctl.capacity-plan/1"
    assert plan["bytes_per_token"] == 43_008
    assert 3_776_102_400_000 <= plan["demand_bytes"] <= 3_776_102_400_000 * 1.002
    assert (plan["verdict"], plan["reclaim"], plan["shortfall_bytes"]) == ("fits", [], 0)
    assert plan["basis"] == "assumed"
    assert not big.location.exists()


def test_the_answer_for_a_person_comes_first(big):
    said = big.run("plan", "extraction", *FOUNDING, "--volume", "/").stdout

    assert said.splitlines()[0] == (
        "fits: 3,517.19 GiB (3,776.56 GB) hidden states for 87.8 M tokens on /; nothing needs to be deleted"
    )
    assert "72.3 h" in said
    assert "43,008 bytes" in said


def test_the_final_state_and_a_nested_config_count(big):
    (big.volume / "config.json").write_text(
        json.dumps({"text_config": {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 163_840}})
    )
    post = big.run("plan", "extraction", *FOUNDING, "--final-state", "post", "--volume", "/", "--json")
    nested = big.run(
        *("plan", "extraction", "--tokens", "87.8M", "--layers", "2,30,58", "--volume", "/", "--json"),
        *("--model", str(big.volume / "config.json")),
    )

    assert payload(post)["bytes_per_token"] == 57_344
    assert payload(nested)["bytes_per_token"] == 43_008


def test_a_gguf_file_says_its_shape_as_well_as_a_config_does(big):
    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value

    numbers = {b"llama.embedding_length": 7168, b"llama.block_count": 61, b"llama.vocab_size": 163_840}
    values = [text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")]
    values += [text(name) + struct.pack("<II", 4, number) for name, number in numbers.items()]
    model = big.volume / "kimi.gguf"
    model.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + b"".join(values))
    words = ("plan", "extraction", "--tokens", "87.8M", "--layers", "2,30,58", "--volume", "/", "--model", str(model))

    assert payload(big.run(*words, "--json"))["bytes_per_token"] == 43_008
    model.write_bytes(model.read_bytes()[:60])
    cut = big.run(*words)
    assert cut.exit_code == 2
    assert f"the head of {model} is no GGUF metadata" in cut.stderr


def test_what_does_not_fit_is_exit_3_with_a_whole_answer(big):
    plan = payload(big.run("plan", "extraction", "--tokens", "500M", "--volume", "/", "--json"), code=3)

    assert plan["verdict"] == "does_not_fit"
    assert plan["shortfall_bytes"] > 0
    assert plan["full_at"] is not None
    assert any(other["name"] == "fewer_tokens" for other in plan["alternatives"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--volume", "/"), "either a corpus or a number of tokens"),
        (("--tokens", "87.8M"), "no volume was named"),
        (("--tokens", "87.8M", "--volume", "/nowhere"), "`/nowhere` is no volume"),
        (("--tokens", "87.8M", "--volume", "/", "--model", "kimi-k3"), "no preset for the model `kimi-k3`"),
        (("--tokens", "87.8G", "--volume", "/"), "--tokens: `G`"),
        (("--corpus", "corpus", "--volume", "/"), "there is no catalog that knows `corpus`"),
    ],
    ids=["nothing to extract", "no volume", "unknown volume", "unknown model", "bad unit", "corpus without catalog"],
)
def test_wrong_words_are_told_before_anything_is_planned(big, words, message):
    refused = big.run("plan", "extraction", *words)

    assert refused.exit_code == 2
    assert message in refused.stderr


def test_a_saved_plan_can_be_read_back(big, tmp_path):
    saved = tmp_path / "plan.json"
    big.run("plan", "extraction", *FOUNDING, "--volume", "/", "--out", str(saved))

    assert capacity_plan_from_json(json.loads(saved.read_text())).tokens == 87_800_000


def test_a_reservation_is_respected_by_later_plans_until_it_is_given_back(big):
    big.run("init")
    before = payload(big.run("plan", "extraction", *FOUNDING, "--volume", "/", "--reserve", "--json"))
    during = payload(big.run("plan", "extraction", *FOUNDING, "--volume", "/", "--json"))
    (promised,) = payload(big.run("reservation", "ls", "--json"))["reservations"]
    big.run("reservation", "release", promised["id"][:8])
    after = payload(big.run("plan", "extraction", *FOUNDING, "--volume", "/", "--json"))

    assert before["reservation"] == promised["id"]
    assert promised["reserved_bytes"] == before["peak_bytes"]
    assert during["headroom_bytes"] == before["headroom_bytes"] - before["peak_bytes"]
    assert after["headroom_bytes"] == before["headroom_bytes"]
    assert payload(big.run("df", "--json"))["volumes"][0]["reserved_bytes"] == 0


def test_space_that_is_not_there_cannot_be_reserved(big):
    big.run("init")
    refused = big.run("plan", "extraction", "--tokens", "500M", "--volume", "/", "--reserve")

    assert refused.exit_code == 3
    assert "nothing is reserved" in refused.stderr
    assert payload(big.run("reservation", "ls", "--json"))["reservations"] == []


def test_a_reservation_ends_by_itself(big):
    big.run("init")
    big.run("plan", "training", "--draft-params", "2.6B", "--volume", "/", "--reserve")
    big.clock.advance(timedelta(days=8))
    assert len(payload(big.run("reservation", "ls", "--json"))["reservations"]) == 1  # a clock that was set ends none
    big.host.clock.advance(timedelta(days=8))

    assert payload(big.run("reservation", "ls", "--json"))["reservations"] == []


def test_a_corpus_in_the_catalog_says_its_tokens(stocked):
    plan = payload(stocked.run("plan", "extraction", "--corpus", "corpus", "--volume", "scratch", "--json"), code=3)

    assert plan["tokens"] == 87_800_000


def test_what_is_superseded_is_offered_when_that_makes_it_fit(tmp_path):
    (tmp_path / "volume").mkdir()
    host = FakeMachine(size_bytes=100 * MIB)
    shop = Shop(folder=tmp_path, host=host)
    make_folders(host, bytes(shop.volume))
    shop.stock()
    room = payload(shop.run("plan", "extraction", "--tokens", "1k", "--volume", "scratch", "--json"))["headroom_bytes"]

    tokens = str((room + 1 * MIB) // 43_100)
    plan = payload(shop.run("plan", "extraction", "--tokens", tokens, "--volume", "scratch", "--json"))

    assert plan["verdict"] == "fits_after_reclaim"
    assert [offer["name"] for offer in plan["reclaim"]] == ["scratch/hs-old"]
    assert plan["reclaim"][0]["available_at"] == "2026-12-07T12:00:00Z"


def make_folders(host, path):
    parts = path.strip(b"/").split(b"/")
    for end in range(1, len(parts) + 1):
        host.do.mkdir(b"/" + b"/".join(parts[:end]))


def test_a_pipeline_is_planned_stage_by_stage(big, tmp_path):
    file = tmp_path / "pipeline.toml"
    file.write_text(
        'volume = "/"\n[[stage]]\nname = "states"\nkind = "extraction"\ntokens = "87.8M"\n'
        '[[stage]]\nname = "draft"\nkind = "training"\ndraft_params = "2.6B"\nduration = "40h"\nfrees = ["states"]\n'
    )

    plan = payload(big.run("plan", "pipeline", str(file), "--json"))

    assert (plan["verdict"], [stage["name"] for stage in plan["stages"]]) == ("fits", ["states", "draft"])
    assert "states" in big.run("plan", "pipeline", str(file)).stdout


def test_a_pipeline_file_that_is_not_there_is_a_usage_error(big):
    assert big.run("plan", "pipeline", "nowhere.toml").exit_code == 2


WRITER = """
import sys, time
step = 2**20 // 4
with open(sys.argv[1] + "/shard", "wb") as shard:
    for _ in range(4000):
        shard.write(b"x" * step)
        shard.flush()
        time.sleep(0.05)
"""


def test_a_running_job_is_measured_on_disk(shop):
    shop.clock = SystemClock()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(shop.volume)])
    try:
        time.sleep(0.5)
        began, size = time.monotonic(), written(shop)
        plan = payload(shop.run("plan", "running", str(shop.volume), "--bytes", "900MiB", "--watch", "3s", "--json"))
        rate = (written(shop) - size) / (time.monotonic() - began)
    finally:
        writer.kill()
        writer.wait()

    assert plan["bytes_per_second"] == pytest.approx(rate, rel=0.15)
    assert plan["demand_bytes"] == 900 * MIB - plan["written_bytes"]
    assert plan["duration_seconds"] == pytest.approx(plan["demand_bytes"] / plan["bytes_per_second"], rel=0.01)


def written(shop):
    return os.stat(shop.volume / "shard").st_size


def test_a_running_job_needs_its_whole_size_and_a_place(shop):
    assert shop.run("plan", "running", str(shop.volume)).exit_code == 2
    assert shop.run("plan", "running", "/nowhere", "--bytes", "1GiB").exit_code == 2


def test_df_tells_what_is_catalogued_and_what_is_not(stocked):
    volumes = payload(stocked.run("df", "--json"))["volumes"]

    ours = next(volume for volume in volumes if volume["name"] == "scratch")
    assert ours["catalogued_bytes"] == 8 * MIB
    assert ours["quarantined_bytes"] == ours["reserved_bytes"] == 0
    assert ours["unaccounted_bytes"] == max(0, ours["used_bytes"] - 8 * MIB - ours["own_bytes"])
    assert {"mount", "size_bytes", "available_bytes", "limited_by"} <= set(ours)


def test_df_needs_no_catalog(shop):
    assert shop.run("df").exit_code == 0
    assert not shop.location.exists()


def test_du_tells_artifacts_from_what_nobody_catalogued(stocked):
    (stocked.volume / "tmp").mkdir()
    (stocked.volume / "tmp" / "core").write_bytes(b"x" * 5 * MIB)
    os.link(stocked.volume / "tmp" / "core", stocked.volume / "tmp" / "core-again")

    usage = payload(stocked.run("du", "--json"))

    (place,) = usage["places"]
    shares = {(share["kind"], share["state"]): share for share in place["shares"]}
    assert shares["hidden_states", "live"]["artifacts"] == 2
    assert 5 * MIB <= shares["hidden_states", "live"]["allocated_bytes"] < 5.1 * MIB
    assert usage["uncatalogued_bytes"] == on_disk(stocked.volume / "tmp" / "core")
    assert place["uncatalogued"][0]["path"] == str(stocked.volume / "tmp")
    assert "uncatalogued" in stocked.run("du").stdout


def test_du_never_calls_the_blocks_of_a_folder_uncatalogued(stocked):
    (stocked.volume / "empty" / "inside").mkdir(parents=True)

    usage = payload(stocked.run("du", "--json"))

    (place,) = usage["places"]
    folders = [stocked.volume, stocked.volume / "empty", stocked.volume / "empty" / "inside"]
    assert usage["uncatalogued_bytes"] == 0
    assert place["uncatalogued"] == []
    assert usage["folder_bytes"] == sum(map(on_disk, folders))
    assert place["total_bytes"] == usage["folder_bytes"] + sum(share["allocated_bytes"] for share in place["shares"])


def on_disk(path):
    return path.lstat().st_blocks * 512


def test_du_of_a_path_outside_every_root_is_an_error(stocked, tmp_path):
    assert stocked.run("du", str(tmp_path)).exit_code == 2
    assert payload(stocked.run("du", str(stocked.volume / "hs-old"), "--json"))["uncatalogued_bytes"] == 0
