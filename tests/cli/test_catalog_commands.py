"""`catalog backup`, `restore`, `export` and the confirmation by `doctor --repair`, as typed."""

import base64
import json
import os
import stat
from datetime import timedelta
from urllib.parse import quote

import pytest

from artifactctl.catalog import open_catalog
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.inventory.snapshots import open_snapshot
from tests.bench.postgres import PASSWORD


def payload(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def epoch(shop):
    return json.loads((shop.volume / ".artifactctl" / "root.json").read_text())["catalog_epoch"]


@pytest.fixture
def backup(stocked):
    """A backup of the stocked catalog, an hour ago."""
    file = stocked.folder / "backup.db"
    assert stocked.run("catalog", "backup", str(file)).exit_code == 0
    stocked.clock.advance(timedelta(hours=1))
    return file


def test_a_backup_says_what_it_holds_and_is_audited(stocked):
    made = payload(stocked.run("catalog", "backup", str(stocked.folder / "one.db"), "--json"))
    again = stocked.run("catalog", "backup", str(stocked.folder / "one.db"))

    assert made["schema"] == "artifactctl.catalog-backup/1"
    assert made["roots"] == ["scratch"]
    assert stat.S_IMODE((stocked.folder / "one.db").stat().st_mode) == 0o600
    assert again.exit_code == 4
    assert "is there already and stays as it is" in again.stderr
    assert len(payload(stocked.run("audit", "ls", "--action", "catalog.backup", "--json"))["events"]) == 1


def test_a_newer_catalog_is_replaced_only_after_a_confirmation_that_says_what_is_lost(stocked, backup):
    stocked.run("hold", "add", "hs-old", "--reason", "for the paper")

    refused = stocked.run("catalog", "restore", str(backup))
    done = payload(stocked.run("catalog", "restore", str(backup), "--yes", "--json"))

    assert refused.exit_code == 2
    assert "only the present catalog knows 1 hold(s)" in refused.stderr
    assert "a confirmation is needed" in refused.stderr
    assert (done["epoch"], done["confirmed"]) == (2, False)
    kept = open_catalog(done["kept_at"], now=stocked.clock.now())
    with kept.reading() as reading:
        assert [hold.reason for hold in reading.holds()] == ["for the paper"]
    kept.close()


def test_doctor_repair_confirms_and_the_hold_is_there_again(stocked, backup):
    stocked.run("hold", "add", "hs-old", "--reason", "for the paper")
    stocked.run("catalog", "restore", str(backup), "--yes")

    waiting = stocked.run("doctor")
    unasked = stocked.run("doctor", "--repair")
    confirmed = stocked.run("doctor", "--repair", "--yes", "--json")

    assert waiting.exit_code == 3
    assert "is not confirmed" in waiting.stdout
    assert unasked.exit_code == 2
    assert "1 hold(s) to place again" in unasked.stderr
    assert "held again" in " ".join(json.loads(confirmed.stdout)["repaired"])
    assert epoch(stocked) == 2
    assert [hold["reason"] for hold in payload(stocked.run("hold", "ls", "--json"))["holds"]] == ["for the paper"]
    assert payload(stocked.run("audit", "verify", "--json"))["ok"]


def test_a_backup_is_restored_without_a_question_where_there_is_no_catalog(stocked, backup):
    for name in os.listdir(stocked.location.parent):
        if (stocked.location.parent / name).is_file():
            (stocked.location.parent / name).unlink()

    done = stocked.run("catalog", "restore", str(backup))

    assert done.exit_code == 0, done.output
    assert "at epoch 2" in done.stdout
    assert stat.S_IMODE(stocked.location.stat().st_mode) == 0o600
    assert "scratch/hs-old" in stocked.run("ls").stdout


def test_a_damaged_catalog_goes_aside_whole_and_the_backup_takes_its_place(stocked, backup):
    for suffix in ("-wal", "-shm"):
        stocked.location.with_name(stocked.location.name + suffix).unlink(missing_ok=True)
    damaged = bytearray(stocked.location.read_bytes())
    damaged[100:8100] = b"\xff" * 8000
    stocked.location.write_bytes(damaged)

    broken = stocked.run("ls")
    refused = stocked.run("catalog", "restore", str(backup))
    done = payload(stocked.run("catalog", "restore", str(backup), "--yes", "--json"))

    assert "reads as damaged" in broken.stderr
    assert refused.exit_code == 2
    with open(done["kept_at"], "rb") as kept:
        assert kept.read() == damaged
    assert "scratch/hs-old" in stocked.run("ls").stdout


@pytest.mark.parametrize("content", [None, b"", b"no database at all" * 500], ids=["absent", "empty", "text"])
def test_what_is_no_backup_is_refused_and_changes_nothing(stocked, content):
    file = stocked.folder / "file.db"
    if content is not None:
        file.write_bytes(content)
    before = stocked.location.read_bytes()

    refused = stocked.run("catalog", "restore", str(file), "--yes")

    assert refused.exit_code == 2, refused.output
    assert "hint: " in refused.stderr
    assert stocked.location.read_bytes() == before
    assert not [name for name in os.listdir(stocked.location.parent) if "partial" in name or "replaced" in name]


def test_the_catalog_itself_is_not_its_own_backup(stocked):
    refused = stocked.run("catalog", "restore", str(stocked.location), "--yes")

    assert refused.exit_code == 2
    assert "is the catalog itself" in refused.stderr


def test_an_export_is_one_document_that_names_everything_but_members(stocked):
    file = stocked.folder / "export.json"
    stocked.run("hold", "add", "hs-old", "--reason", "for the paper")
    stocked.run("record", "checkpoint", "--metric", "accept_len=2.1")

    for _ in range(2):
        assert stocked.run("catalog", "export", str(file)).exit_code == 0
    document = json.loads(file.read_text())

    assert document["schema"] == "artifactctl.catalog-export/1"
    assert list(document)[1:] == [
        "exported_at",
        "catalog",
        "roots",
        "artifacts",
        "replicas",
        "lineage",
        "holds",
        "leases",
        "runs",
        "measurements",
    ]
    assert {artifact["name"] for artifact in document["artifacts"]} >= {"scratch/hs-old", "scratch/corpus"}
    assert [hold["reason"] for hold in document["holds"]] == ["for the paper"]
    assert [m["value"] for m in document["measurements"]] == [2.1]
    assert len(document["runs"]) == 1
    assert len(document["lineage"]) == 5
    assert [name for name in os.listdir(stocked.folder) if "partial" in name] == []


def test_an_export_keeps_paths_that_are_not_utf_8(stocked):
    catalog = stocked.open()
    with catalog.writing("arranger", stocked.clock.now()) as writing:
        artifact = writing.add_artifact("odd", ArtifactKind.OTHER)
        writing.add_replica(
            artifact.artifact_id,
            "root-1",
            b"odd-\xff",
            is_directory=True,
            files=0,
            apparent_bytes=0,
            allocated_bytes=0,
            member_digest="",
            fingerprint="",
            observed_at=stocked.clock.now(),
        )
        writing.set_members(artifact.artifact_id, [(b"part-\xfe", "f", 7, None)])
    catalog.close()

    stocked.run("catalog", "export", str(stocked.folder / "export.json"), "--members")
    document = json.loads((stocked.folder / "export.json").read_text())

    (copy,) = [each for each in document["replicas"] if each["artifact"] == artifact.artifact_id]
    (listed,) = [each for each in document["members"] if each["artifact"] == artifact.artifact_id]
    assert base64.b64decode(copy["relative_b64"]) == b"odd-\xff"
    assert base64.b64decode(listed["members"][0]["relative_b64"]) == b"part-\xfe"


def test_an_export_can_be_compressed_and_replaces_only_an_earlier_one(stocked):
    file = stocked.folder / "catalog.json.zst"
    assert stocked.run("catalog", "export", str(file)).exit_code == 0
    assert stocked.run("catalog", "export", str(file)).exit_code == 0
    packed = file.read_bytes()
    with open_snapshot(bytes(file)) as snapshot:
        assert {artifact.name for artifact in snapshot.reading.artifacts()} >= {"scratch/map"}
    file.write_bytes(b"a shard")

    refused = stocked.run("catalog", "export", str(file))

    assert packed.startswith(b"\x28\xb5\x2f\xfd")
    assert refused.exit_code == 4
    assert file.read_bytes() == b"a shard"


def test_a_catalog_moves_to_a_server_and_back_and_only_the_confirmed_one_acts(stocked, empty_database):
    there = {"ARTIFACTCTL_CATALOG": empty_database}
    unasked = stocked.run("catalog", "copy", empty_database)
    moved = stocked.run("catalog", "copy", empty_database, "--yes", "--json")
    late = stocked.run("hold", "add", "hs-old", "--reason", "for the paper")
    unconfirmed = stocked.run("doctor", environment=there)
    confirmed = stocked.run("doctor", "--repair", "--yes", "--json", environment=there)
    epoch_there = epoch(stocked)
    told = stocked.run("catalog", "copy", str(stocked.folder / "back.db"), "--yes", environment=there)
    back = {"ARTIFACTCTL_CATALOG": str(stocked.folder / "back.db")}
    stocked.run("doctor", "--repair", "--yes", environment=back)

    assert unasked.exit_code == 2
    assert (payload(moved)["epoch"], payload(moved)["confirmed"]) == (2, False)
    assert late.exit_code == 4
    assert "moved to postgresql://" in late.stderr
    assert unconfirmed.exit_code == 3
    assert confirmed.exit_code == 0, confirmed.output
    assert (epoch_there, epoch(stocked)) == (2, 3)
    assert "artifactctl doctor --repair" in told.stdout
    assert "scratch/hs-old" in stocked.run("ls", environment=back).stdout
    assert payload(stocked.run("audit", "verify", "--json", environment=back))["ok"]
    everything = "".join(done.output for done in (unasked, moved, late, unconfirmed, confirmed, told))
    assert PASSWORD not in everything
    assert quote(PASSWORD, safe="") not in everything
