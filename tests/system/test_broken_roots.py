"""A root whose own folder is broken, gone or cannot be written: a refusal that names it and says what to type."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.site import Site
from tests.bench.volumes import Volume, fill_with_bytes

pytestmark = pytest.mark.system

RECLAIM = ("--yes", "--reason", "test")
HOLD = ("hold", "add", "vol/old", "--reason", "test")


def private(site: Site) -> Path:
    return site.root / ".artifactctl"


def without(name: str) -> Callable[[Site, Volume], object]:
    """Return a context in which a part of the private folder, or all of it, was moved away by hand."""

    @contextmanager
    def moved_away(site: Site, volume: Volume) -> Iterator[None]:
        del volume
        place, kept = private(site) / name, site.outside / "kept"
        (private(site) if not name else place).rename(kept)
        yield

    return moved_away


@contextmanager
def read_only(site: Site, volume: Volume) -> Iterator[None]:
    del site
    subprocess.run(["mount", "-o", "remount,ro", volume.mount], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", volume.mount], check=True)


@contextmanager
def immutable(site: Site, volume: Volume) -> Iterator[None]:
    """Let even root get EPERM from every change."""
    del volume
    subprocess.run(["chattr", "-R", "+i", private(site)], check=True)
    yield
    subprocess.run(["chattr", "-R", "-i", private(site)], check=True)


@contextmanager
def full(site: Site, volume: Volume) -> Iterator[None]:
    """Leave not a block, not even what was kept for such a case."""
    for kept in (*(private(site) / "ballast").iterdir(), *private(site).glob("*.next")):
        kept.unlink()
    fill_with_bytes(volume)
    yield


@pytest.fixture
def prepared(site: Site, tmp_path: Path) -> Site:
    """A site with a quarantine, something that may go, and a saved plan for another."""
    for name in ("aside", "old", "other"):
        site.superseded(name)
    site.set_aside("vol/aside")
    site.done("reclaim", "vol/other", "--out", tmp_path / "plan.json")
    return site


@pytest.mark.parametrize(
    ("broken", "also_refuses_holds", "said"),
    [
        (without(""), True, "artifactctl root add"),
        (without("root.json"), True, "artifactctl root add"),
        (without("journal"), False, "artifactctl root add"),
        (without("quarantine"), False, "artifactctl root add"),
        (read_only, True, "read-write"),
        (immutable, True, "sudo"),
    ],
    ids=["no folder", "no marker", "no journal", "no quarantine", "read-only", "immutable"],
)
def test_nothing_is_done_and_the_next_step_is_said(
    prepared: Site,
    ext4_volume: Volume,
    tmp_path: Path,
    broken: Callable[[Site, Volume], object],
    also_refuses_holds: bool,
    said: str,
) -> None:
    with broken(prepared, ext4_volume):  # type: ignore[attr-defined]
        outcomes = [
            prepared("reclaim", "vol/old", *RECLAIM),
            prepared("apply", tmp_path / "plan.json", *RECLAIM),
            prepared("quarantine", "restore", "vol/aside", *RECLAIM),
            prepared("quarantine", "purge", "vol/aside", *RECLAIM),
        ]
        held = prepared(*HOLD)
        doctor = prepared("doctor")

    for outcome in outcomes:
        assert outcome.code == 4, outcome
        assert "vol" in outcome.stdout + outcome.stderr
    assert any(said in outcome.stderr for outcome in outcomes)
    assert held.code == (4 if also_refuses_holds else 0), held
    assert len(prepared.done("hold", "ls", "--json").json()["holds"]) == (not also_refuses_holds)
    if also_refuses_holds:
        assert "nothing was changed" in held.stderr
        assert said in held.stderr
    if broken is not immutable:
        assert doctor.code == 3
    assert (prepared.root / "old").is_dir()
    assert (prepared.root / "other").is_dir()
    assert prepared.states()["vol/aside"] == "quarantined"


def test_where_no_block_is_left_nothing_is_done_either(prepared: Site, ext4_volume: Volume, tmp_path: Path) -> None:
    with full(prepared, ext4_volume):
        outcomes = [prepared("reclaim", "vol/old", *RECLAIM), prepared(*HOLD)]

    for outcome in outcomes:
        assert outcome.code in (0, 4), outcome
    assert (prepared.root / "old").is_dir() == (outcomes[0].code == 4)


@pytest.mark.parametrize("part", ["root.json", "journal", "lock", "ballast", ""], ids=lambda part: part or "all of it")
def test_a_removed_part_is_made_again_by_adding_the_root_again(prepared: Site, part: str) -> None:
    subprocess.run(["rm", "-r", private(prepared) / part], check=True)

    prepared.done("root", "add", prepared.root)
    prepared.done("reclaim", "vol/old", *RECLAIM, "--purge-now")
    restored = prepared("quarantine", "restore", "vol/aside", *RECLAIM)

    assert not (prepared.root / "old").exists()
    assert restored.code == (0 if part else 4), restored
    assert (prepared.root / "aside").is_dir() == bool(part)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/etc", "/etc cannot be reclaimed: it belongs to the system"),
        ("/usr/share", "/usr/share cannot be reclaimed: it belongs to the system"),
        ("/", "/ cannot be reclaimed: it belongs to the system"),
        ("{root}/.artifactctl/quarantine", "/.artifactctl/quarantine cannot be reclaimed: there artifactctl keeps"),
        ("{root}/.artifactctl", "/.artifactctl cannot be reclaimed: there artifactctl keeps"),
    ],
)
def test_what_never_goes_is_refused_by_the_name_that_was_typed(site: Site, place: str, why: str) -> None:
    refused = site("reclaim", place.format(root=site.root), *RECLAIM)

    assert refused.code in (2, 4), refused
    assert why in refused.stderr


def test_why_tells_of_what_was_purged_when_and_by_which_operation(site: Site) -> None:
    name = site.superseded("old")
    operation = site.done("reclaim", name, *RECLAIM, "--purge-now", "--json").json()["operation"]

    told = site.done("why", name).stdout

    assert told.startswith(f"{name}: it is gone since 20")
    assert f"purged by operation {operation}-1" in told
    assert f"artifactctl audit ls --artifact {name}" in told
