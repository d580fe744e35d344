"""Copies in a store that is a folder: what counts, what is gone on with, and the way home."""

import json
import os
from pathlib import Path

import pytest

from artifactctl.archiving.failures import NotTheSameBytes, PlaceTaken, UnfitDestination
from artifactctl.archiving.restoring import NothingToRestore, old_place, restorable, restore
from artifactctl.archiving.source import source_of
from artifactctl.archiving.uploading import archive_to_store
from artifactctl.domain.artifacts import ReplicaState, VerifyLevel
from artifactctl.domain.operations import StepOutcome
from artifactctl.inventory.targets import Target
from artifactctl.reclaim import applying
from artifactctl.reclaim.quarantined import in_quarantine
from artifactctl.report.archive import CopyMade
from artifactctl.stores.codecs import CODECS
from artifactctl.stores.failures import StoreFailure, UnfitUrl
from artifactctl.stores.store import ObjectStore, check_url
from tests.archiving.ground import Ground, picture
from tests.archiving.removing import carry_out, plan_for, workplace

CODEC = pytest.mark.parametrize("codec", ["raw", "zstd", "planes"])


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store"


def upload(ground: Ground, url: str, codec: str = "raw", **options) -> CopyMade:
    replica = source_of(ground.work(), ground.known())
    return archive_to_store(ground.work(**options), ground.known(), replica, url, CODECS[codec])


def download(ground: Ground, to: Target | None = None, **options) -> CopyMade:
    work = ground.work(**options)
    place = to or old_place(work, ground.known())
    return restore(work, restorable(work, ground.known(), towards=place.root), place)


def archives(ground: Ground):
    with ground.catalog.reading() as reading:
        return reading.archives()


def objects(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())


def remove_for_good(ground: Ground) -> None:
    """Take the original away, by the engine."""
    result = carry_out(ground, plan_for(ground, "near"))
    assert [step.outcome for step in result.steps] == [StepOutcome.QUARANTINED], result.steps
    with ground.catalog.reading() as reading:
        aside = in_quarantine(reading)
    purged = applying.purge(workplace(ground), aside, reason="archived")
    assert [step.outcome for step in purged.steps] == [StepOutcome.PURGED], purged.steps


@CODEC
def test_the_original_may_go_and_comes_back_byte_for_byte(ground: Ground, url: str, codec: str) -> None:
    before = picture(ground.at(ground.near))
    assert upload(ground, url, codec).is_verified

    remove_for_good(ground)
    assert not os.path.exists(ground.at(ground.near))
    made = download(ground)

    assert made.destination.path == ground.at(ground.near)
    assert picture(ground.at(ground.near)) == before
    back = ground.known().replicas[-1]
    assert (back.state, back.verified_level) == (ReplicaState.LIVE, VerifyLevel.DIGESTS)


def test_a_copy_in_a_store_is_known_with_what_was_verified_and_when(ground: Ground, url: str) -> None:
    upload(ground, url, "zstd")

    (copy,) = archives(ground)
    assert (copy.state, copy.url, copy.codec, copy.files) == (ReplicaState.ARCHIVED, url, "zstd", 6)
    assert copy.is_verified
    assert copy.content_digest == ground.known().content_digest != ""
    assert ground.actions()[-3:] == ["archive.begin", "archive.done", "lease.release"]


def test_compressed_it_takes_less(ground: Ground, url: str) -> None:
    upload(ground, url, "zstd")

    (copy,) = archives(ground)
    assert copy.stored_bytes < copy.size_bytes / 2  # most of it is a hole


def test_the_manifest_is_enough_to_know_everything(ground: Ground, url: str, tmp_path: Path) -> None:
    upload(ground, url)

    (manifest,) = [path for path in objects(tmp_path) if path.name == "manifest.json"]
    fields = json.loads(manifest.read_bytes())
    assert (fields["name"], fields["codec"]) == ("hidden", "raw")
    assert {row["path"].encode("utf-8", "surrogateescape") for row in fields["entries"]} >= {
        b"caf\xe9\nline",
        b"rows/up",
    }


def test_a_stopped_upload_goes_on_and_sends_nothing_twice(ground: Ground, url: str) -> None:
    asked = iter(range(100))
    stopped = upload(ground, url, should_stop=lambda: next(asked) >= 3)
    assert not stopped.is_verified
    assert [copy.is_verified for copy in archives(ground)] == [False]
    assert [r.name for r in plan_for(ground, "near").refused] == ["hidden"]

    made = upload(ground, url)

    assert made.is_verified
    assert made.sent_bytes + stopped.sent_bytes < 2 * made.size_bytes
    assert [copy.is_verified for copy in archives(ground)] == [True]


def test_an_upload_from_another_content_is_begun_anew(ground: Ground, url: str) -> None:
    asked = iter(range(100))
    upload(ground, url, should_stop=lambda: next(asked) >= 3)
    os.chmod(ground.at(ground.near, b"hidden/rows/-rf"), 0o600)

    upload(ground, url)

    assert [copy.state for copy in archives(ground)] == [ReplicaState.GONE, ReplicaState.ARCHIVED]


@CODEC
def test_a_store_that_does_not_keep_what_it_is_given_is_no_copy(
    ground: Ground, url: str, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ObjectStore.put

    def spoil(store: ObjectStore, key: str, content) -> None:
        put(store, key, [b"!" + b"".join(content)[1:]])

    monkeypatch.setattr(ObjectStore, "put", spoil)

    with pytest.raises(NotTheSameBytes, match="was read back"):
        upload(ground, url, codec)

    assert [copy.is_verified for copy in archives(ground)] == [False]


@pytest.mark.parametrize("how", ["removed", "rewritten", "added"])
def test_a_copy_that_is_not_as_it_was_verified_counts_no_more(
    ground: Ground, url: str, tmp_path: Path, how: str
) -> None:
    upload(ground, url)
    assert plan_for(ground, "near").refused == ()
    first = objects(tmp_path)[0]
    content = first.read_bytes()
    if how == "removed":
        first.unlink()
    elif how == "rewritten":
        first.write_bytes(bytes(len(content)))
    else:
        (first.parent / "more").write_bytes(b"x")

    (refused,) = plan_for(ground, "near").refused

    (said,) = [item for item in refused.blocking if item.guard == "recoverable"]
    assert "is not as it was when it was verified" in said.reason


def test_what_was_written_into_the_original_since_is_in_no_archive(ground: Ground, url: str) -> None:
    upload(ground, url)
    with open(ground.at(ground.near, b"hidden/rows/data_1.bin"), "r+b") as file:
        file.write(b"other")

    (refused,) = plan_for(ground, "near").refused

    assert "recoverable" in {item.guard for item in refused.blocking}


@CODEC
@pytest.mark.parametrize("place", [0, 50], ids=["its first byte", "within it"])
def test_a_damaged_object_is_never_restored(ground: Ground, url: str, tmp_path: Path, codec: str, place: int) -> None:
    upload(ground, url, codec)
    largest = max(objects(tmp_path), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[place] ^= 1
    largest.write_bytes(content)

    with pytest.raises((NotTheSameBytes, StoreFailure), match="not what was stored"):
        _restore_elsewhere(ground)

    assert not os.path.exists(ground.at(ground.far))


def _restore_elsewhere(ground: Ground) -> CopyMade:
    """Restore from the store although a live copy is there."""
    from artifactctl.archiving.restoring import Restorable

    origin = Restorable(artifact=ground.known(), replica=None, archive=archives(ground)[-1])
    return restore(ground.work(), origin, Target(root=ground.far, relative=b"hidden"))


def test_an_occupied_place_is_refused(ground: Ground, url: str) -> None:
    upload(ground, url)
    os.mkdir(ground.at(ground.far))

    with pytest.raises(PlaceTaken):
        _restore_elsewhere(ground)


def test_where_a_copy_lives_already_it_says_so(ground: Ground) -> None:
    with pytest.raises(UnfitDestination, match="there is nothing to bring back"):
        download(ground)


def test_what_has_another_copy_below_a_root_comes_from_there(ground: Ground) -> None:
    ground.archive()
    remove_for_good(ground)

    made = download(ground)

    assert made.source.path == ground.at(ground.far)
    assert picture(ground.at(ground.near)) == picture(ground.at(ground.far))


def test_what_is_nowhere_cannot_be_brought_back(ground: Ground) -> None:
    with ground.catalog.writing("alice", ground.work().clock()) as writing:
        writing.change_state(
            ground.replica(ground.near).replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.MISSING
        )

    with pytest.raises(NothingToRestore):
        download(ground)


def test_a_folder_of_a_root_is_no_store(ground: Ground) -> None:
    with pytest.raises(UnfitDestination, match="lies in the root far"):
        upload(ground, f"file://{os.fsdecode(ground.far.path)}/inside")


@pytest.mark.parametrize("bad", ["s3://key:secret@bucket/x", "s3://", "bucket/x", "s3://bucket/x?versionId=1"])
def test_a_url_that_holds_credentials_or_names_no_store_is_refused(bad: str) -> None:
    with pytest.raises(UnfitUrl) as refused:
        check_url(bad)

    assert "secret" not in refused.value.message


def test_an_unknown_kind_of_store_says_what_to_install() -> None:
    with pytest.raises(UnfitUrl) as refused:
        ObjectStore("nosuch://bucket/x")

    assert "artifactctl[archive]" in refused.value.remedy
