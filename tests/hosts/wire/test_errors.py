"""What goes wrong there is told as if it had gone wrong here: the same error, message and remedy."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.domain.errors import ArtifactctlError, HostFailure
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe.reports import raised, reported
from artifactctl.hosts.protocol import Host
from artifactctl.hosts.remote import RemoteHost
from tests.hosts.act_ground import Ground, managed, plant
from tests.hosts.wire.links import agent


@pytest.fixture(scope="module")
def there() -> Iterator[RemoteHost]:
    """This machine, through an agent."""
    with agent() as host:
        yield host


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A root with one tree in it."""
    made = managed(tmp_path)
    plant(made.at("old"))
    return made


def _damage(ground: Ground) -> None:
    with open(ground.at(".artifactctl/root.json"), "wb") as marker:
        marker.write(b"{")


def _lock(ground: Ground) -> None:
    LocalHost().lock(ground.root)


WRONG: dict[str, tuple[Callable[[Ground], object], Callable[[Host, Ground], object]]] = {
    "nothing there": (lambda ground: None, lambda host, ground: host.usage(ground.at("gone"))),
    "no walk": (lambda ground: None, lambda host, ground: list(host.walk(ground.at(b"gone\xe9")))),
    "a folder": (lambda ground: None, lambda host, ground: host.read_range(ground.at("old"), 0, 1)),
    "a link": (lambda ground: None, lambda host, ground: host.digest(ground.at("old/latest"))),
    "no root": (lambda ground: None, lambda host, ground: host.read_mirror(ground.at("old"), "holds")),
    "a damaged marker": (_damage, lambda host, ground: host.read_marker(ground.path)),
    "no operation": (lambda ground: None, lambda host, ground: host.set_aside(ground.root, "op9")),
    "a bad name": (lambda ground: None, lambda host, ground: host.confirm(ground.root, "../op")),
    "another root": (
        lambda ground: None,
        lambda host, ground: host.operations(replace(ground.root, inode=ground.root.inode + 1)),
    ),
    "a begun purge": (
        lambda ground: ground.condemn("old"),
        lambda host, ground: host.confirm(ground.root, "op1"),
    ),
    "a wrong topic": (lambda ground: None, lambda host, ground: host.mirror(ground.path, "../x", b"{}")),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_is_the_one_of_this_machine(there: RemoteHost, ground: Ground, name: str) -> None:
    prepare, ask = WRONG[name]
    prepare(ground)

    with pytest.raises(ArtifactctlError) as here:
        ask(ground.host, ground)
    with pytest.raises(ArtifactctlError) as far:
        ask(there, ground)

    assert type(far.value) is type(here.value)
    assert (far.value.message, far.value.remedy) == (here.value.message, here.value.remedy)


def test_a_lock_there_names_its_holder(there: RemoteHost, ground: Ground) -> None:
    lock = there.lock(ground.root)
    with pytest.raises(ArtifactctlError) as busy:
        ground.host.lock(ground.root)
    lock.release()

    assert f"process {there.greeting.process} (artifactctl)" in busy.value.message


def test_a_fault_of_the_probe_itself_is_no_answer_and_ends_nothing(there: RemoteHost, ground: Ground) -> None:
    with pytest.raises(HostFailure, match="TypeError"):
        there.settle(ground.path, target_available_bytes=None, deadline_seconds="soon")  # type: ignore[arg-type]

    assert there.usage(ground.path).size_bytes > 0


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file or directory", "/x/caf\udce9"),
        PermissionError(13, "Permission denied"),
        OSError(39, "Directory not empty", b"/x/\xff"),
        TimeoutError(110, "the filesystem does not answer"),
        OSError(122, "Disk quota exceeded"),
        OSError("no number"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_system_error_keeps_its_class_number_text_and_name(error: OSError) -> None:
    again = raised(reported(error))

    assert isinstance(again, OSError)
    assert type(again) is type(error)
    assert (again.errno, again.filename) == (error.errno, error.filename)
    assert again.strerror == (error.strerror or str(error))


def test_numbers_go_by_name_since_a_mac_has_others() -> None:
    assert reported(OSError(39, os.strerror(39)))["number"] == "ENOTEMPTY"
