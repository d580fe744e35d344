"""Invariant I9 through the command line: SIGKILL at every numbered point, then `doctor` and `doctor --repair`.

Whatever is killed wherever: the tree is whole where it was, or in quarantine and restorable byte for byte, or, where
its purge had begun, gone completely. A second repair has nothing to do. tests/proof kills between these points.
"""

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from artifactctl.hosts.probe.points import POINTS, VARIABLE
from tests.bench.command_line import command_line
from tests.bench.postgres import Server
from tests.bench.site import ROOT_NAME, Picture, Site, managed_site, picture
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.bench.warm_command_line import ForkServer, WarmCommandLine
from tests.proof.ground import plant

pytestmark = pytest.mark.system

WAIVED = ("--yes", "--reason", "test", "--waive", "recoverable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A command that is killed. `reaches` are the steps whose points it passes; `is_prepared` by a quarantine."""

    words: tuple[str, ...]
    reaches: tuple[str, ...]
    is_prepared: bool = False


ACTS = {
    "quarantine": Act(words=("reclaim", *WAIVED), reaches=("intend", "set-aside", "journal")),
    "restore": Act(words=("quarantine", "restore"), reaches=("put-back", "journal"), is_prepared=True),
    "purge": Act(words=("quarantine", "purge", "--yes"), reaches=("begin-purge", "purge", "journal"), is_prepared=True),
    "purge-now": Act(
        words=("reclaim", "--purge-now", *WAIVED), reaches=("intend", "set-aside", "begin-purge", "purge", "journal")
    ),
}
CELLS = [(act, point) for act in ACTS for point in POINTS if point.partition(":")[0] in ACTS[act].reaches]
SAMPLE = [
    ("quarantine", "intend:journalled"),
    ("quarantine", "set-aside:renamed"),
    ("restore", "put-back:renamed"),
    ("purge", "begin-purge:renamed"),
    ("purge-now", "purge:member-removed"),
    ("purge-now", "purge:synced"),
]
BEGUN = {"begin-purge:renamed", "begin-purge:synced", "begin-purge:journalled"}


def purge_had_begun(point: str) -> bool:
    """From the rename to `.purging` on nothing can be restored any more; before it everything can."""
    return point in BEGUN or point.startswith("purge:")


def test_every_point_is_reached_by_some_act() -> None:
    of_copies = {point for point in POINTS if point.startswith("copy:")}  # tests/archiving kills at each of those
    assert {point for _, point in CELLS} == set(POINTS) - of_copies


@pytest.fixture(scope="module")
def volumes_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[FilesystemKind, Volume]]:
    """One volume of each kind for all cells."""
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(mounted_volume(kind, tmp_path_factory.mktemp("crash")))
            for kind in (FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS)
        }


@pytest.fixture(scope="module")
def sites(
    volumes_once: dict[FilesystemKind, Volume], warm_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[FilesystemKind, Site]:
    """One site on each; every cell has an artifact of its own."""
    made = {}
    for kind, volume in volumes_once.items():
        plain = command_line(tmp_path_factory.mktemp("home"))
        cli = WarmCommandLine(home=plain.home, cwd=plain.cwd, server=warm_server)
        made[kind] = managed_site(volume, cli)
    return made


@pytest.mark.parametrize(("act", "point"), CELLS, ids=[f"{act} at {point}" for act, point in CELLS])
def test_a_kill_at_any_point_loses_nothing_on_ext4(sites: dict[FilesystemKind, Site], act: str, point: str) -> None:
    kill_and_recover(sites[FilesystemKind.EXT4], act, point)


@pytest.mark.parametrize("kind", [FilesystemKind.XFS, FilesystemKind.BTRFS], ids=str)
@pytest.mark.parametrize(("act", "point"), SAMPLE, ids=[f"{act} at {point}" for act, point in SAMPLE])
def test_nor_on_xfs_and_btrfs(sites: dict[FilesystemKind, Site], kind: FilesystemKind, act: str, point: str) -> None:
    kill_and_recover(sites[kind], act, point)


@pytest.fixture(scope="module")
def team(postgres: Server, warm_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site on ext4 whose catalog is on a server."""
    plain = command_line(tmp_path_factory.mktemp("home"))
    name = postgres.new_database()
    on_server = {"ARTIFACTCTL_CATALOG": postgres.url(name)}
    with mounted_volume(FilesystemKind.EXT4, tmp_path_factory.mktemp("crash")) as volume:
        cli = WarmCommandLine(home=plain.home, cwd=plain.cwd, server=warm_server, extra_environment=on_server)
        yield managed_site(volume, cli)
    postgres.drop_database(name)


@pytest.mark.parametrize(("act", "point"), SAMPLE, ids=[f"{act} at {point}" for act, point in SAMPLE])
def test_nor_where_the_catalog_is_on_a_server(team: Site, act: str, point: str) -> None:
    kill_and_recover(team, act, point)


def kill_and_recover(site: Site, act_name: str, point: str) -> None:
    act = ACTS[act_name]
    folder = f"{act_name}-{point.replace(':', '-')}"
    name, before = prepared(site, folder, act)

    died = site.cli(*act.words, name, environment={VARIABLE: f"{point}=kill"})

    assert died.code == -signal.SIGKILL, died
    recover_and_check(site, folder, before, begun=purge_had_begun(point))


def prepared(site: Site, folder: str, act: Act) -> tuple[str, Picture]:
    """Make an artifact, set aside where the act needs that; returns its name and how its tree looked."""
    name = f"{ROOT_NAME}/{folder}"
    plant(site.root / folder)
    site.done("register", site.root / folder, "--kind", "other", "--name", name)
    before = picture(site.root / folder)
    if act.is_prepared:
        site.done("reclaim", name, *WAIVED)
    return name, before


def recover_and_check(site: Site, folder: str, before: Picture, *, begun: bool | None) -> None:
    """Repair, and check that nothing was lost. `begun`: whether the purge had, None where that is not known."""
    findings = site("doctor", "--json").json()["findings"]
    check_explained(f"{ROOT_NAME}/{folder}", findings)
    site.done("doctor", "--repair")
    check_whole_or_gone(site, folder, before, begun=begun)
    if begun:
        assert findings, "a purge that had begun is never silent"
    again = site.done("doctor", "--repair", "--json").json()
    assert (again["repaired"], again["findings"]) == ([], [])
    site.done("audit", "verify")


def check_explained(name: str, findings: list[dict[str, Any]]) -> None:
    """One sentence that names what was interrupted, and that it can be repaired."""
    assert len(findings) <= 1, findings
    for finding in findings:
        assert name in finding["what"]
        assert "\n" not in finding["what"]
        assert finding["repairable"]


def check_whole_or_gone(site: Site, folder: str, before: Picture, *, begun: bool | None) -> None:
    """Whole where it was, or restorable byte for byte, or, where its purge had begun, gone completely."""
    name, original = f"{ROOT_NAME}/{folder}", site.root / folder
    state = site.states().get(name, "gone")
    remains = site.content_in_quarantine()
    if state == "gone":
        assert begun is not False
        assert (original.exists(), remains) == (False, [])
        return
    assert not begun
    if state == "quarantined":
        assert not original.exists()
        assert len(remains) == 1
        site.done("quarantine", "restore", name)
    else:
        assert (state, remains) == ("live", [])
    assert picture(original) == before
    assert site.content_in_quarantine() == []
