"""Which candidates the command names, and that the line can be pasted."""

import shlex
from typing import Any

import pytest

from artifactctl.domain.observation import Holder, HolderKind, VolumeUsage
from artifactctl.hosts.protocol import DeletedHolder
from artifactctl.report.rescue_values import RescueCandidate
from artifactctl.rescue.choosing import choose, command_for, look_at_openers, target_of
from artifactctl.rescue.regret import Regret
from tests.rescue.values import NOW


def a_candidate(
    path: bytes, size_bytes: int = 100, regret: Regret = Regret.HALF_WRITTEN, **more: Any
) -> RescueCandidate:
    return RescueCandidate(
        path=path,
        kind="other",
        allocated_bytes=size_bytes,
        freed_bytes=size_bytes,
        why="because",
        regret=regret,
        modified_at=NOW,
        **more,
    )


def paths(chosen: tuple[RescueCandidate, ...]) -> list[bytes]:
    return [candidate.path for candidate in chosen]


def test_the_least_regretted_that_cover_the_need_are_chosen() -> None:
    leftover, older, guess = (
        a_candidate(b"/d/a", 100),
        a_candidate(b"/d/b", 100, Regret.OLDER_CHECKPOINT),
        a_candidate(b"/d/c", 1000, Regret.OLDER_SIBLING),
    )

    assert paths(choose((leftover, older, guess), 150)) == [b"/d/a", b"/d/b"]


def test_what_the_rest_can_do_without_is_left_alone() -> None:
    small, large = a_candidate(b"/d/a", 100), a_candidate(b"/d/b", 1000, Regret.OLDER_SIBLING)

    assert paths(choose((small, large), 900)) == [b"/d/b"]


def test_of_equals_the_smallest_overshoot_is_chosen() -> None:
    assert paths(choose((a_candidate(b"/d/a", 1000), a_candidate(b"/d/b", 200)), 150)) == [b"/d/b"]


def test_all_that_is_free_to_go_is_chosen_where_it_does_not_suffice() -> None:
    held = a_candidate(b"/d/h", 900, held_by=(Holder(kind=HolderKind.DESCRIPTOR, path=b"", pid=1),))

    assert paths(choose((a_candidate(b"/d/a"), held), 5000)) == [b"/d/a"]


def test_what_is_settled_goes_before_what_is_not() -> None:
    fresh, settled = a_candidate(b"/d/a", 100, is_settled=False), a_candidate(b"/d/b", 300)

    assert paths(choose((fresh, settled), 80)) == [b"/d/b"]


def test_an_expired_quarantine_is_the_first_to_go() -> None:
    aside = a_candidate(b"/d/q", 500, Regret.SET_ASIDE, operation="op-1")

    chosen = choose((a_candidate(b"/d/a", 100), aside), 90)

    assert command_for(chosen, catalog="") == "artifactctl quarantine purge op-1"


def test_nothing_is_chosen_where_nothing_is_needed() -> None:
    assert choose((a_candidate(b"/d/a"),), 0) == ()


@pytest.mark.parametrize("name", [b"with space", b"$(reboot)", b"a'b", b"-rf", b"caf\xc3\xa9", b"not-utf8-\xff"])
def test_every_name_survives_the_shell(name: bytes) -> None:
    import subprocess

    line = command_for((a_candidate(b"/d/" + name),), catalog="")
    words = subprocess.run(
        ["bash", "-c", f"artifactctl() {{ printf '%s\\0' \"$@\"; }}; {line}"], capture_output=True, check=True
    ).stdout

    assert words.split(b"\0")[:-1] == [b"reclaim", b"/d/" + name]


def test_outer_folders_come_first_and_the_catalog_is_named() -> None:
    chosen = (a_candidate(b"/d/run/checkpoint-1"), a_candidate(b"/d/old"))

    assert shlex.split(command_for(chosen, catalog="/x/my catalog.db")) == [
        "artifactctl", "--catalog", "/x/my catalog.db", "reclaim", "/d/old", "/d/run/checkpoint-1",
    ]  # fmt: skip


def test_what_is_registered_goes_by_a_command_of_its_own() -> None:
    chosen = (a_candidate(b"/d/new"), a_candidate(b"/d/known", is_registered=True))

    assert command_for(chosen, catalog="") == "artifactctl reclaim /d/known && artifactctl reclaim /d/new"


def test_no_command_ever_answers_its_own_question() -> None:
    chosen = (a_candidate(b"/d/a"), a_candidate(b"/d/q", operation="op"), a_candidate(b"/d/k", is_registered=True))

    line = command_for(chosen, catalog="")

    assert "--yes" not in line
    assert "--purge-now" not in line


def test_large_deleted_files_lead_to_their_openers() -> None:
    def deleted(pid: int, size_bytes: int) -> DeletedHolder:
        return DeletedHolder(pid=pid, command="x", path=b"/d/x", size_bytes=size_bytes)

    assert look_at_openers((deleted(7, 2**30), deleted(8, 4096))) == "ps -o pid,user,lstart,args -p 7"
    assert look_at_openers((deleted(8, 4096),)) == ""


def usage(size_bytes: int) -> VolumeUsage:
    return VolumeUsage(
        mount=b"/d", filesystem_uuid="u", filesystem_type="ext4", device="", size_bytes=size_bytes, used_bytes=0,
        free_bytes=0, available_bytes=0, total_inodes=0, available_inodes=0, block_bytes=4096, read_only=False,
    )  # fmt: skip


def test_the_need_is_what_was_asked_for_else_what_brings_comfort() -> None:
    assert target_of(usage(1000), needed_bytes=70, available_bytes=30) == 70
    assert target_of(usage(1000), needed_bytes=None, available_bytes=30) == 120
    assert target_of(usage(1000), needed_bytes=None, available_bytes=400) == 0


def test_the_command_names_the_machine_where_that_is_another_one():
    chosen = (a_candidate(b"/d/new"),)

    assert command_for(chosen, catalog="", machine="gpu1") == "artifactctl reclaim gpu1:/d/new"
