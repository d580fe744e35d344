"""What must hold after a kill and after recovery, asked of the disk and the catalog from outside (I1 to I10)."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.bench.site import ROOT_NAME, Picture, picture
from tests.proof.database import values
from tests.proof.ground import Case, Ground, fingerprint, seen_bystanders


class Bytes(StrEnum):
    """Where the bytes of an artifact are, by the inode of its folder."""

    HOME = "whole where it was"
    ASIDE = "whole in quarantine"
    GOING = "its purge has begun"
    ABSENT = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the kill left of each artifact, by folder."""

    places: dict[str, Bytes]


def check_what_is_left(case: Case) -> Found:
    """Right after the kill, before any repair: nothing is lost, and nothing went without a durable intent."""
    found = Found(places={folder: where_bytes_are(case, folder) for folder in case.folders})
    if not case.act.may_remove and not case.act.copies:
        assert set(found.places.values()) <= {Bytes.HOME, Bytes.ASIDE}, found
    if case.act.older_schema:
        return found
    before = fingerprint(case.ground)
    states = case.ground.site.states()
    findings = case.ground.run("doctor --json").json()["findings"]
    assert fingerprint(case.ground) == before, "I6: what only looks changed something below a root"
    for folder, place in found.places.items():
        state = states.get(f"{ROOT_NAME}/{folder}", "gone")
        if state == "gone":  # I7
            assert place is Bytes.ABSENT, (folder, place)
        if place is Bytes.GOING:
            assert findings, "a purge that had begun is never silent"
    for finding in findings:
        assert "\n" not in finding["what"], finding
        assert finding["repairable"], finding
    return found


def where_bytes_are(case: Case, folder: str) -> Bytes:
    """Return where the artifact's bytes are; where they are aside, with the note and list that recovery needs (I1)."""
    inode = case.before[folder][b""][1]
    home = case.ground.site.root / folder
    if home.exists() and not case.act.copies:
        assert picture(home) == case.before[folder], f"{folder} is at its place and is not what it was"
        return Bytes.HOME
    if home.exists():
        assert content_of(picture(home)) == content_of(case.before[folder]), f"{folder} is in place and not whole"
        return Bytes.HOME
    for content in case.ground.site.content_in_quarantine():
        if content.lstat().st_ino != inode:
            continue
        assert (content.parent / "note.json").stat().st_size, content
        assert (content.parent / "members.gz").stat().st_size, content
        if content.parent.name.endswith(".purging"):
            return Bytes.GOING
        assert picture(content) == case.before[folder], f"{folder} is in quarantine and is not what it was"
        return Bytes.ASIDE
    return Bytes.ABSENT


def check_recovered(case: Case, found: Found) -> None:
    """After the repair: every artifact whole or restorable, or gone where its purge had begun; nothing left to do."""
    ground = case.ground
    if case.act.older_schema:
        check_upgraded(case)
    for folder in case.folders:
        check_artifact(case, folder, found.places[folder])
    check_nothing_left(ground)
    assert seen_bystanders(ground.site) == ground.bystanders, "I2: a bystander was touched"


def check_artifact(case: Case, folder: str, left: Bytes) -> None:
    """I7, I8 and I9 of one artifact."""
    ground, name = case.ground, f"{ROOT_NAME}/{folder}"
    state = ground.site.states().get(name, "gone")
    place = where_bytes_are(case, folder)
    if case.act.copies:
        return check_copies(case, folder, state)
    if left in (Bytes.GOING, Bytes.ABSENT):
        assert (state, place) == ("gone", Bytes.ABSENT)
        said = actions(ground, name)
        assert said >= {"quarantine.done", "purge.begin"}, said
        assert said & {"purge.done", "recover.purge"}, said
        return None
    expected = {Bytes.HOME: "live", Bytes.ASIDE: "quarantined"}
    assert expected.get(place) == state, (folder, left, place, state)
    if place is Bytes.ASIDE:
        assert actions(ground, name) & {"quarantine.done", "recover.quarantine"}
        ground.done(f"quarantine restore {name}")
        assert where_bytes_are(case, folder) is Bytes.HOME
    return None


def check_copies(case: Case, folder: str, state: str) -> None:
    """Whatever copy is in a place is whole, and one that was whole before is still there."""
    ground = case.ground
    home, away = ground.site.root / folder, ground.far / folder
    source = away if case.act.before else home
    assert state == "live"
    for copy in (home, away):
        assert copy == source or not copy.exists() or is_same(copy, case.before[folder])
    assert is_same(source, case.before[folder])
    assert not left_of_copies(ground), "a copy that is none lies about"
    ground.done(case.act.command.format(**case.fills) if not (home.exists() and away.exists()) else "audit verify")
    assert is_same(home, case.before[folder])
    assert is_same(away, case.before[folder])


def left_of_copies(ground: Ground) -> list[Path]:
    """Return the folders of copies under way in either root."""
    places = [root / ".artifactctl" / "archiving" for root in (ground.site.root, ground.far)]
    return [entry for place in places if place.exists() for entry in place.iterdir()]


def check_upgraded(case: Case) -> None:
    """Every value of the older catalog is still there, in a schema that the program takes."""
    now = values(case.ground.catalog_file, case.older_columns)
    for table, rows in case.older_values.items():
        lost = [row for row in rows if row not in now[table]]
        assert lost == [], (table, case.older_columns[table], lost, now[table])


def check_nothing_left(ground: Ground) -> None:
    """A second recovery finds and changes nothing; the chain of the audit is whole (I10)."""
    files, rows = fingerprint(ground), values(ground.catalog_file)
    again = ground.done("doctor --repair --json").json()
    assert (again["repaired"], again["findings"]) == ([], [])
    assert fingerprint(ground) == files, "the second recovery changed something below a root"
    changed = [table for table, held in values(ground.catalog_file).items() if held != rows[table]]
    assert changed == [], "the second recovery changed the catalog"
    ground.done("audit verify")


def actions(ground: Ground, name: str) -> set[str]:
    """Return what the audit log says was done with the artifact."""
    return {event["action"] for event in ground.done(f"audit ls --artifact {name} --json").json()["events"]}


def is_same(folder: Path, before: Picture) -> bool:
    """Say whether a copy has what the original had."""
    return os.path.lexists(folder) and content_of(picture(folder)) == content_of(before)


def content_of(look: Picture) -> dict[bytes, tuple[int, int, int, str]]:
    """Return a picture without inodes, in which copies differ."""
    return {name: (mode, size, time_ns, content) for name, (mode, _, size, time_ns, content) in look.items()}
