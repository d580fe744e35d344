"""A catalog moves whole into an empty database of either kind, or not at all; the old one takes no more changes."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from artifactctl import audit
from artifactctl.audit.schema import metadata as audit_metadata
from artifactctl.catalog import CatalogMissing, CatalogMoved, open_catalog
from artifactctl.catalog.failures import TargetTaken
from artifactctl.catalog.moving import Tally, _rows
from artifactctl.catalog.schema import metadata
from artifactctl.domain.artifacts import LineageRole, RunState, VerifyLevel
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.errors import CheckFailed, UsageError
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.catalog_backup import back_up
from artifactctl.inventory.catalog_copy import move_catalog
from tests.bench.databases import ON_SQLITE
from tests.bench.postgres import PASSWORD
from tests.fakes.machine import FakeMachine

CHANGED_BY_A_MOVE = {"catalog_identity", "audit_event", "audit_head"}


@pytest.fixture
def acting(noon):
    return Acting(actor="ada@node", host="node", now=noon)


@pytest.fixture
def known(catalog, place, noon):
    """A catalog with something of every sort in it: names that are not UTF-8, an artifact replaced by a later one."""
    old, new = place("old\udcff", relative=b"old\xff"), place("n\u00e9w")
    with catalog.writing("ada", noon) as writing:
        writing.supersede(old.artifact_id, new.artifact_id)
        writing.add_lineage(new.artifact_id, place_corpus(writing).artifact_id, LineageRole.EXTRACTED_FROM)
        writing.set_members(old.artifact_id, [(b"d/%d\xff" % number, "f", number, None) for number in range(3_000)])
        writing.set_digests(old.artifact_id, [(b"d/7\xff", b"\0" * 32)])
        writing.place_hold(old.artifact_id, reason="for the paper")
        writing.grant_lease(new.artifact_id, owner="job", host="node", expires_at=noon + timedelta(hours=1))
        writing.set_verified(new.replicas[0].replica_id, VerifyLevel.HEADERS, "print-1", ok=True)
        writing.add_measurement(new.artifact_id, "accept_len", 2.1000000000000001)
        writing.add_run("extraction", state=RunState.SUCCEEDED, outputs=[new.artifact_id])
        writing.save_plan("0" * 64, "{}", expires_at=noon)
        writing.add_operation("op-1", old.replicas[0].replica_id)
        for number in range(40):
            entry = AuditEntry(
                at=noon, actor="ada", host="node", action=AuditAction.RUN_RECORD, path=b"/\xff%d" % number
            )
            audit.append(writing.connection, entry)
    return catalog


def place_corpus(writing):
    from artifactctl.domain.artifacts import ArtifactKind

    return writing.add_artifact("corpus", ArtifactKind.MERGED_CORPUS)


@pytest.fixture(params=["sqlite", "postgresql"])
def elsewhere(request, tmp_path):
    """An empty place of either kind."""
    return request.getfixturevalue("empty_database") if request.param == "postgresql" else str(tmp_path / "new.db")


def content(catalog):
    found = {}
    with catalog.reading() as reading:
        for table in (*metadata.sorted_tables, *audit_metadata.sorted_tables):
            tally = Tally()
            for _ in tally.count(_rows(reading.connection, table)):
                pass
            found[table.name] = tally
    return found


def test_every_row_arrives_the_chain_goes_on_and_numbers_are_drawn_after_those_that_are_there(
    known, elsewhere, noon, acting
):
    before = content(known)

    moved = move_catalog(FakeMachine(), known, elsewhere, reason="a team", acting=acting)

    with closing(open_catalog(elsewhere, now=noon)) as there:
        after = content(there)
        with there.reading() as reading:
            proof = audit.verify(reading.connection)
            identity = reading.identity()
            events = [event.entry.action for event in audit.events(reading.connection)]
            holds = reading.holds()
            artifact = reading.artifact("n\u00e9w")
        with there.writing("bob", noon) as writing:
            hold = writing.place_hold(artifact.artifact_id, reason="another")
            writing.add_artifact("later", artifact.kind)
            writing.grant_lease(artifact.artifact_id, owner="job", host="node", expires_at=noon + timedelta(hours=1))
    assert {name: tally for name, tally in after.items() if name not in CHANGED_BY_A_MOVE} == {
        name: tally for name, tally in before.items() if name not in CHANGED_BY_A_MOVE
    }
    assert (proof.ok, proof.events, proof.head) == (True, moved.audit_events, moved.audit_head)
    assert events[-2:] == ["catalog.move", "catalog.copy"]
    assert (identity.lineage_id, identity.epoch) == (known.lineage_id, 2)
    assert (identity.is_confirmed, identity.moved_to) == (False, "")
    assert moved.rows["shard"] == 3_000
    assert hold.hold_id > max(hold.hold_id for hold in holds)
    assert PASSWORD not in str(moved)


def test_the_old_catalog_can_be_read_and_takes_no_more_changes(known, elsewhere, noon, acting):
    moved = move_catalog(FakeMachine(), known, elsewhere, reason="", acting=acting)

    with pytest.raises(CatalogMoved) as refusal, known.writing("ada", noon) as writing:
        writing.add_host("late", machine_id="m")
    with known.reading() as reading:
        names = [host.name for host in reading.hosts()]

    assert moved.target in refusal.value.message
    assert moved.target in refusal.value.remedy
    assert names == ["here"]


def test_a_place_that_is_not_empty_is_refused_and_the_catalog_goes_on(known, elsewhere, noon, acting):
    with closing(create(elsewhere, noon)) as other:
        lineage = other.lineage_id

    with pytest.raises(TargetTaken):
        move_catalog(FakeMachine(), known, elsewhere, reason="", acting=acting)

    with closing(open_catalog(elsewhere, now=noon)) as other:
        assert other.lineage_id == lineage
    with known.writing("ada", noon) as writing:
        assert writing.identity().moved_to == ""


def create(location, noon):
    from artifactctl.catalog import create_or_upgrade

    return create_or_upgrade(location, now=noon)


@ON_SQLITE
def test_a_chain_that_is_not_whole_is_not_moved_and_nothing_stays_there(known, location, elsewhere, noon, acting):
    with closing(sqlite3.connect(location)) as tampering:
        tampering.execute("DROP TRIGGER audit_event_no_update")
        tampering.execute("UPDATE audit_event SET actor = 'eve' WHERE id = 7")
        tampering.commit()

    with pytest.raises(CheckFailed, match="event 7"):
        move_catalog(FakeMachine(), known, elsewhere, reason="", acting=acting)

    with pytest.raises(CatalogMissing):
        open_catalog(elsewhere, now=noon)
    with known.writing("ada", noon) as writing:
        writing.add_host("goes-on", machine_id="m")


def test_a_catalog_is_not_moved_onto_itself(known, catalog_address, acting):
    with pytest.raises(UsageError, match="the catalog itself"):
        move_catalog(FakeMachine(), known, catalog_address, reason="", acting=acting)


def test_a_backup_is_a_file_that_can_be_moved_into_an_empty_database(known, elsewhere, noon, tmp_path, acting):
    before = content(known)
    backup = back_up(known, bytes(tmp_path / "backup.db"), acting=acting)

    with closing(open_catalog(tmp_path / "backup.db", now=noon)) as restored:
        kept = content(restored)
        move_catalog(FakeMachine(), restored, elsewhere, reason="the server burnt down", acting=acting)

    assert kept == before
    assert backup.audit_events == 40
    with closing(open_catalog(elsewhere, now=noon)) as there, there.reading() as reading:
        assert audit.verify(reading.connection).ok
        assert reading.connection.execute(text("SELECT count(*) FROM shard")).scalar_one() == 3_000
    assert Path(tmp_path / "backup.db").exists()
