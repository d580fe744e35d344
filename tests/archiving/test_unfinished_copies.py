"""Copies that did not become whole: told with what to do, and given up with everything that was written of them."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.archiving.abandoning import MayBeAllThereIs, give_up
from artifactctl.archiving.begun import BegunCopy, begun_copies
from artifactctl.archiving.failures import PlaceTaken, SourceChanged, UnfitDestination
from artifactctl.archiving.restoring import destination_of, old_place, restorable, restore
from artifactctl.archiving.store_copies import folder_of
from artifactctl.archiving.unfinished import copy_findings, repair_copies, upload_findings
from artifactctl.archiving.uploading import archive_to_store
from artifactctl.catalog import RoleMissing
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.errors import Busy, HostFailure, Refused
from artifactctl.domain.roles import Role, Subject, SubjectKind
from artifactctl.inventory.places import Here
from artifactctl.report.archive import CopyMade
from artifactctl.stores.codecs import CODECS
from artifactctl.stores.store import ObjectStore
from tests.archiving.ground import NOON, Ground, picture


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store"


def objects(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())


def begun(ground: Ground) -> tuple[BegunCopy, ...]:
    here = Here(directory=b"/", identify=ground.host.identify)
    with ground.catalog.reading() as reading:
        return begun_copies(reading, ground.known(), here=here)


def upload(ground: Ground, url: str, **options: object) -> CopyMade:
    return archive_to_store(ground.work(**options), ground.known(), ground.replica(ground.near), url, CODECS["raw"])


def stop_after(pieces: int) -> Callable[[], bool]:
    """Return what asks for a stop once so many pieces have passed."""
    asked: list[None] = []

    def should_stop() -> bool:
        asked.append(None)
        return len(asked) > pieces

    return should_stop


def test_a_copy_that_was_begun_is_told_by_doctor_with_both_ways_to_end_it(ground: Ground) -> None:
    ground.archive(should_stop=stop_after(1))
    place = os.fsdecode(ground.at(ground.far))

    (finding,) = copy_findings(ground.work(), ground.far)
    (copy,) = begun(ground)

    assert f"`artifactctl archive hidden --to {place}` goes on with it" in finding.remedy
    assert copy.again == f"artifactctl archive hidden --to {place}"
    assert copy.give_up == f"artifactctl archive hidden --to {place} --abandon"


def test_a_copy_that_is_given_up_leaves_nothing_and_the_place_was_never_its_own(ground: Ground) -> None:
    before = picture(ground.at(ground.near))
    ground.archive(should_stop=stop_after(1))

    give_up(ground.work(), ground.known(), begun(ground))

    assert ground.aside(ground.far) == []
    assert ground.replica(ground.far).state is ReplicaState.GONE
    assert begun(ground) == ()
    assert ground.actions()[-1] == "archive.abandon"
    assert picture(ground.at(ground.near)) == before
    with pytest.raises(UnfitDestination, match="there is nothing to bring back"):
        old_place(ground.work(), ground.known())


def test_a_complete_copy_whose_place_was_taken_can_be_given_up(ground: Ground) -> None:
    def occupy(size_bytes: int) -> None:
        os.makedirs(ground.at(ground.far), exist_ok=True)

    with pytest.raises(PlaceTaken):
        ground.archive(progress=occupy)
    (finding,) = copy_findings(ground.work(), ground.far)

    with pytest.raises(PlaceTaken) as again:
        ground.archive()
    give_up(ground.work(), ground.known(), begun(ground))

    assert finding.remedy.startswith(f"move away what stands at {os.fsdecode(ground.at(ground.far))}; then ")
    assert "--abandon` takes it away" in finding.remedy
    assert "move away what stands there and run the same command again" in (again.value.remedy or "")
    assert ground.aside(ground.far) == []
    assert os.listdir(ground.at(ground.far)) == []


def test_a_link_that_stands_at_the_place_does_not_keep_the_copy_from_being_given_up(ground: Ground) -> None:
    def occupy(size_bytes: int) -> None:
        if not os.path.lexists(ground.at(ground.far)):
            os.symlink("/nowhere", ground.at(ground.far))

    with pytest.raises(PlaceTaken):
        ground.archive(progress=occupy)

    meant = ground.place(os.fsdecode(ground.at(ground.far)))
    give_up(ground.work(), ground.known(), [copy for copy in begun(ground) if copy.is_at(meant, None)])

    assert ground.aside(ground.far) == []
    assert os.path.islink(ground.at(ground.far))


def test_what_is_not_ours_in_the_folder_of_a_copy_is_named_by_its_own_path(ground: Ground) -> None:
    ground.archive(should_stop=stop_after(1))
    (folder,) = ground.aside(ground.far)
    notes = ground.at(ground.far, f".artifactctl/archiving/{folder}/content/notes")
    os.makedirs(os.path.dirname(notes), exist_ok=True)
    with open(notes, "w") as file:
        file.write("mine")

    with pytest.raises(HostFailure) as left:
        give_up(ground.work(), ground.known(), begun(ground))

    (folder,) = ground.aside(ground.far)
    stands = os.fsdecode(ground.at(ground.far, f".artifactctl/archiving/{folder}/content/notes"))
    assert os.path.exists(stands)
    assert left.value.remedy == f"move {stands} away, then try again"


def test_the_folder_of_a_copy_that_is_gone_does_not_keep_it_from_being_given_up(ground: Ground) -> None:
    ground.archive(should_stop=stop_after(1))
    (folder,) = ground.aside(ground.far)
    os.rename(ground.at(ground.far, f".artifactctl/archiving/{folder}"), ground.at(ground.far, "elsewhere"))

    give_up(ground.work(), ground.known(), begun(ground))

    assert ground.replica(ground.far).state is ReplicaState.GONE


def test_what_may_be_all_that_is_left_is_not_given_up(ground: Ground) -> None:
    ground.archive(should_stop=stop_after(1))
    with ground.catalog.writing("alice", NOON) as writing:
        writing.change_state(
            ground.replica(ground.near).replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.MISSING
        )

    with pytest.raises(MayBeAllThereIs):
        give_up(ground.work(), ground.known(), begun(ground))

    assert len(ground.aside(ground.far)) == 1


def test_repair_does_not_take_away_what_may_be_all_that_is_left(ground: Ground) -> None:
    ground.archive(should_stop=stop_after(1))
    with ground.catalog.writing("alice", NOON) as writing:
        writing.change_state(
            ground.replica(ground.near).replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.MISSING
        )

    (finding,) = copy_findings(ground.work(), ground.far)
    (told,) = repair_copies(ground.work(), ground.far)

    assert not finding.repairable
    assert "this may be all there is" in finding.what
    assert "left there" in told
    assert len(ground.aside(ground.far)) == 1


def test_neither_repair_nor_giving_up_disturbs_who_copies_from_another_machine(ground: Ground) -> None:
    ground.archive(should_stop=stop_after(1))
    with ground.catalog.writing("bob", NOON) as writing:  # whose lock on the copy cannot be seen from here
        lease = writing.grant_lease(
            ground.known().artifact_id,
            owner="bob",
            host="gpu2",
            expires_at=NOON + timedelta(hours=1),
            pid=7,
            pid_started="another-machine/boot/ns/1",
            command="artifactctl archive hidden",
        )

    (finding,) = copy_findings(ground.work(), ground.far)
    repair_copies(ground.work(), ground.far)
    with pytest.raises(Busy, match="process 7 on gpu2"):
        give_up(ground.work(), ground.known(), begun(ground))

    assert "process 7 on gpu2 may be copying it right now" in finding.what
    assert len(ground.aside(ground.far)) == 1
    with ground.catalog.writing("bob", NOON) as writing:
        writing.release_lease(lease.lease_id, owner="bob")
    repair_copies(ground.work(), ground.far)
    assert ground.aside(ground.far) == []


def test_a_copy_that_is_being_made_is_not_given_up(ground: Ground, url: str) -> None:
    refused: list[Busy] = []

    def meanwhile(size_bytes: int) -> None:
        if not refused:
            with pytest.raises(Busy) as busy:
                give_up(ground.work(), ground.known(), begun(ground))
            refused.append(busy.value)

    assert ground.archive(progress=meanwhile).is_verified
    refused.clear()
    assert upload(ground, url, progress=meanwhile).is_verified


def test_what_was_uploaded_is_removed_with_the_copy_and_nothing_else(ground: Ground, url: str, tmp_path: Path) -> None:
    upload(ground, url, should_stop=stop_after(3))
    (copy,) = begun(ground)
    assert copy.archive is not None
    folder = folder_of("hidden", copy.archive.archive_id, ground.catalog.lineage_id)
    (tmp_path / "store" / folder / "notes.txt").write_text("mine")
    (tmp_path / "store" / "hidden" / "00000000").write_text("another copy's")
    with ground.catalog.reading() as reading:
        (finding,) = upload_findings(reading, now=NOON)
    uploaded = len(objects(tmp_path))

    give_up(ground.work(), ground.known(), (copy,))

    assert uploaded > 2
    assert finding.remedy == f"`{copy.again}` goes on with it; `{copy.give_up}` removes what was uploaded"
    assert [path.name for path in objects(tmp_path)] == ["00000000", "notes.txt"]
    assert begun(ground) == ()


def test_an_upload_that_may_be_whole_is_not_given_up(ground: Ground, url: str, tmp_path: Path) -> None:
    upload(ground, url, should_stop=stop_after(3))
    (copy,) = begun(ground)
    assert copy.archive is not None
    folder = folder_of("hidden", copy.archive.archive_id, ground.catalog.lineage_id)
    (tmp_path / "store" / folder / "manifest.json").write_text("{}")

    with pytest.raises(Refused, match="it may be whole"):
        give_up(ground.work(), ground.known(), (copy,))

    assert len(objects(tmp_path)) > 1
    assert upload(ground, url).is_verified


def test_an_upload_of_what_has_changed_since_is_removed_by_the_next_one(
    ground: Ground, url: str, tmp_path: Path
) -> None:
    upload(ground, url, should_stop=stop_after(3))
    with open(ground.at(ground.near, b"hidden/rows/data_1.bin"), "r+b") as file:
        file.write(b"other")

    upload(ground, url)

    assert len({path.parent for path in objects(tmp_path)}) == 1


def test_a_copy_is_begun_in_an_empty_folder_also_where_a_number_was_given_out_before(
    ground: Ground, url: str, tmp_path: Path
) -> None:
    earlier = ObjectStore(url)
    kept = f"{folder_of('hidden', 1, ground.catalog.lineage_id)}/00000000"
    earlier.put(kept, [b"of a catalog that was put back since"])

    assert upload(ground, url).is_verified
    assert earlier.get(kept) == b"of a catalog that was put back since"


def test_the_root_it_already_lies_on_is_refused_with_the_roots_that_could_have_it(ground: Ground) -> None:
    with pytest.raises(UnfitDestination, match="is the original of hidden") as refused:
        ground.archive(to="near")

    assert refused.value.remedy == f"name another root: --to far ({ground.host.identify().hostname})"


def test_a_copy_of_what_changed_meanwhile_is_no_copy_and_is_replaced_by_the_next(ground: Ground) -> None:
    def change(size_bytes: int) -> None:
        with open(ground.at(ground.near, b"hidden/rows/data_1.bin"), "r+b") as file:
            file.write(b"other")

    with pytest.raises(SourceChanged):
        ground.archive(progress=change)

    assert [copy.to for copy in begun(ground)] == [ground.at(ground.far)]
    assert ground.archive().is_verified
    assert begun(ground) == ()


def test_who_may_make_no_copies_is_refused_before_anything_is_written(ground: Ground, url: str, tmp_path: Path) -> None:
    with ground.catalog.writing("alice", NOON) as writing:
        writing.grant_role(Role.APPLY, Subject(kind=SubjectKind.ACCOUNT, name="ada"), reason="")

    with pytest.raises(RoleMissing):
        ground.archive()
    with pytest.raises(RoleMissing):
        upload(ground, url)

    assert ground.aside(ground.far) == []
    assert objects(tmp_path) == []
    assert [r.root.name for r in ground.known().replicas] == ["near"]


def test_what_is_being_brought_back_from_a_store_is_gone_on_with_by_unarchive(ground: Ground, url: str) -> None:
    upload(ground, url)
    with ground.catalog.writing("alice", NOON) as writing:
        writing.change_state(
            ground.replica(ground.near).replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.MISSING
        )
    work = ground.work(should_stop=stop_after(2))
    place = ground.place("far")

    restore(work, restorable(work, ground.known(), towards=place.root), destination_of(work, ground.known(), place))
    (copy,) = begun(ground)
    (finding,) = copy_findings(ground.work(), ground.far)

    assert copy.again == f"artifactctl unarchive hidden --to {os.fsdecode(ground.at(ground.far))}"
    assert f"`{copy.again}` goes on with it" in finding.remedy
    give_up(ground.work(), ground.known(), (copy,))
    assert ground.aside(ground.far) == []
