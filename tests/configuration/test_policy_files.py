"""Which files a folder of policies is: whatever looks like one is read or named, never left out in silence."""

import os
import subprocess
from pathlib import Path

import pytest

from artifactctl.configuration.policy_files import PolicyUnreadable, policy_texts
from artifactctl.configuration.revisions import RevisionUnreadable

CONTENT = b"schema: artifactctl/policy/v1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "policies"
    made.mkdir()
    (made / "a.yaml").write_bytes(CONTENT)
    return made


def read(folder: Path, word: str = "policies") -> dict[str, bytes]:
    return dict(policy_texts((word,), working_directory=folder.parent))


def commit(folder: Path) -> None:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*identity, "commit", "--quiet", "--message", "policies")):
        subprocess.run(["git", *words], cwd=folder.parent, check=True, capture_output=True)


@pytest.mark.parametrize("name", ["PROTECT.YAML", "protect.Yml"])
def test_an_ending_in_capitals_is_an_ending(folder: Path, name: str) -> None:
    (folder / name).write_bytes(CONTENT)
    commit(folder)

    assert set(read(folder)) == {f"policies/{name}", "policies/a.yaml"}
    assert set(read(folder, "git:HEAD:policies")) == {f"git:HEAD:policies/{name}", "git:HEAD:policies/a.yaml"}


def test_what_is_called_like_a_policy_file_and_is_none_is_named(folder: Path) -> None:
    made = folder / "b.yaml"
    for make in (made.mkdir, lambda: made.symlink_to("nowhere"), lambda: os.mkfifo(made)):
        make()
        with pytest.raises(PolicyUnreadable, match=r"policies/b\.yaml"):
            read(folder)
        made.rmdir() if made.is_dir() else made.unlink()


def test_a_link_is_read_here_and_in_a_revision(folder: Path) -> None:
    (folder.parent / "shared.yaml").write_bytes(CONTENT + b"name: shared\n")
    (folder / "b.yaml").symlink_to("../shared.yaml")
    (folder.parent / "again").symlink_to("policies")
    commit(folder)

    there = {name.removeprefix("git:HEAD:"): content for name, content in read(folder, "git:HEAD:policies").items()}

    assert there == read(folder) == {"policies/a.yaml": CONTENT, "policies/b.yaml": CONTENT + b"name: shared\n"}
    assert list(read(folder, "git:HEAD:again").values()) == list(there.values())
    assert list(read(folder, "git:HEAD:policies/b.yaml").values()) == [CONTENT + b"name: shared\n"]


@pytest.mark.parametrize("target", ["/etc/policy.yaml", "nowhere", "b.yaml"])
def test_a_link_out_of_a_revision_is_refused_by_name(folder: Path, target: str) -> None:
    (folder / "b.yaml").symlink_to(target)
    commit(folder)

    with pytest.raises(RevisionUnreadable, match=r"git:HEAD:policies/b\.yaml.*symbolic link"):
        read(folder, "git:HEAD:policies")


def test_a_folder_in_a_revision_that_is_called_like_a_file_is_named(folder: Path) -> None:
    (folder / "b.yaml").mkdir()
    (folder / "b.yaml" / "inside").write_bytes(CONTENT)
    commit(folder)

    with pytest.raises(RevisionUnreadable, match=r"git:HEAD:policies/b\.yaml is no file"):
        read(folder, "git:HEAD:policies")
