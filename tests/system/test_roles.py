"""Two people with accounts of their own share one SQLite catalog: who may do what, and what is left of a refusal."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.artifacts.hidden_states import safetensors_shards
from tests.bench.accounts import GROUP, PEOPLE, Team, team
from tests.bench.command_line import CommandLine, Outcome, Word

pytestmark = pytest.mark.system

REFUSED, UNUSABLE = 4, 1
POLICY = """\
schema: artifactctl/policy/v1
name: team
defaults: {quiet_time: 0s}
limits: {max_bytes: 1TiB, max_artifacts: 9, approval_above: 1KiB}
rules:
  - {name: replaced, match: {kind: hidden_states, superseded: true}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Ada made the catalog in the group's folder, under a policy that asks for an approval."""

    ada: CommandLine
    bob: CommandLine
    eve: CommandLine
    catalog: Path

    @property
    def plan(self) -> Path:
        """Where plans are saved for the others."""
        return self.catalog.with_name("plan.json")

    def done(self, who: CommandLine, *words: Word) -> Outcome:
        """Run a command that must succeed."""
        outcome = who(*words)
        assert outcome.code == 0, f"{words}: {outcome.code}\n{outcome.stdout}\n{outcome.stderr}"
        return outcome

    def refusals(self) -> list[tuple[str, str]]:
        """Return (account, missing role) of every refusal on record."""
        told = self.done(self.ada, "audit", "ls", "--action", "role.refused", "--json").json()["events"]
        return [(event["actor"].partition("@")[0], event["reason"].split("`")[-2]) for event in told]


@pytest.fixture(scope="module")
def people() -> Iterator[Team]:
    with team() as found:
        yield found


@pytest.fixture
def shared(people: Team) -> Shared:
    folder = people.share()
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (folder / "policy.yaml").chmod(0o644)
    environment = {"ARTIFACTCTL_CATALOG": str(folder / "catalog.db")}
    lines = {}
    for name, line in people.command_lines.items():
        settings = f'[policy]\nfiles = ["{folder}/policy.yaml"]\n'
        (line.cwd / "artifactctl.toml").write_text(settings, encoding="utf-8")
        lines[name] = replace(line, extra_environment=environment)
    place = Shared(**lines, catalog=folder / "catalog.db")
    place.done(place.ada, "init")
    return place


def superseded(shared: Shared) -> str:
    """Let ada manage a root of hers in which one artifact may go; returns its name."""
    root = Path(tempfile.mkdtemp(prefix="data-", dir=shared.catalog.parent.parent))
    for name in ("old", "old-new"):
        safetensors_shards(root / name, rows=(300, 400))
    for path in (root, *root.rglob("*")):
        os.chown(path, PEOPLE["ada"], PEOPLE["ada"])
    shared.done(shared.ada, "root", "add", root, "--name", "vol")
    shared.done(shared.ada, "scan", "vol")
    shared.done(shared.ada, "verify", "vol/old-new")
    shared.done(shared.ada, "supersede", "vol/old", "--by", "vol/old-new")
    return "vol/old"


def started_by(line: CommandLine, prefix: tuple[str, ...]) -> CommandLine:
    """Return the same command line in a process that the words of `prefix` start."""
    return CommandLine(home=line.home, cwd=line.cwd, prefix=prefix, extra_environment=line.extra_environment)


def refused_for(outcome: Outcome, role: str) -> bool:
    assert outcome.code == REFUSED, outcome
    return f"that takes the role `{role}`" in outcome.stderr


def test_each_does_what_is_theirs_and_every_refusal_is_on_record(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    name = superseded(shared)
    shared.done(ada, "role", "grant", "approve", "bob", "--yes")
    assert "may not set artifacts aside: that takes the role `apply`" in shared.done(ada, "why", name).stdout
    unplanned = ada("reclaim", name, "--out", shared.plan)
    for role in ("plan", "apply"):
        shared.done(ada, "role", "grant", role, "ada")
    shared.done(ada, "reclaim", name, "--out", shared.plan)

    assert refused_for(unplanned, "plan")
    assert refused_for(ada("approve", shared.plan, "--reason", "mine"), "approve")
    assert refused_for(bob("apply", shared.plan, "--yes", "--reason", "old"), "apply")
    early = ada("apply", shared.plan, "--yes", "--reason", "old")
    assert (early.code, "needs the approval of somebody other than ada@" in early.stderr) == (REFUSED, True)
    shared.done(bob, "approve", shared.plan, "--reason", "looked at it")
    assert shared.done(ada, "apply", shared.plan, "--json").json()["steps"][0]["outcome"] == "quarantined"

    for who in (ada, bob):
        assert refused_for(who("quarantine", "purge", name, "--yes"), "purge")
    shared.done(ada, "role", "grant", "purge", "ada")
    purged = shared.done(ada, "quarantine", "purge", name, "--yes", "--json").json()

    assert purged["steps"][0]["outcome"] == "purged"
    expected = [("ada", "plan"), ("ada", "approve"), ("bob", "apply"), ("ada", "purge"), ("bob", "purge")]
    assert shared.refusals() == expected
    assert shared.done(bob, "audit", "verify", "--json").json()["ok"] is True


def test_root_is_nobody_else_than_the_person_behind_it(shared: Shared) -> None:
    ada, root = shared.ada, started_by(shared.ada, ())
    shared.done(ada, "reclaim", superseded(shared), "--out", shared.plan)

    approved = root("approve", shared.plan, "--reason", "mine", environment={"SUDO_USER": "ada", "USER": "bob"})
    refused = ada("apply", shared.plan, "--yes", "--reason", "old")

    assert (approved.code, "ada@" in approved.stderr) == (REFUSED, True), approved
    assert (refused.code, "needs the approval" in refused.stderr) == (REFUSED, True)


@pytest.mark.parametrize("forged", [{"USER": "ada", "LOGNAME": "ada", "SUDO_USER": "ada"}, {}])
def test_what_anybody_can_say_of_themselves_makes_nobody_somebody_else(shared: Shared, forged: dict[str, str]) -> None:
    shared.done(shared.ada, "role", "grant", "release", "ada", "--yes")
    bob = shared.bob
    if not forged:
        as_root = ("unshare", "--user", "--map-root-user")
        if subprocess.run([*bob.prefix, *as_root, "true"], check=False, capture_output=True).returncode:
            pytest.skip("this kernel lets nobody make a user namespace")
        bob = started_by(bob, (*bob.prefix, *as_root))

    refused = bob("role", "grant", "release", "bob", environment=forged)

    assert refused_for(refused, "administer")
    assert "error: bob@" in refused.stderr
    assert shared.refusals() == [("bob", "administer")]


def test_a_group_of_the_system_can_have_a_role(shared: Shared) -> None:
    shared.done(shared.ada, "role", "grant", "approve", f"group:{GROUP}", "--yes")

    may = shared.done(shared.bob, "role", "ls", "--json").json()["yours"]

    assert may == {"subject": "bob", "owns_catalog": False, "roles": ["approve"]}


def test_a_catalog_in_a_folder_that_a_group_shares_is_the_groups_whatever_the_umask(shared: Shared) -> None:
    made = {path.name: oct(path.stat().st_mode & 0o777) for path in shared.catalog.parent.glob("catalog.db*")}

    assert made == {
        "catalog.db": "0o660",
        "catalog.db-wal": "0o660",
        "catalog.db-shm": "0o660",
        "catalog.db-ballast": "0o770",
    }
    shared.done(shared.bob, "role", "grant", "administer", "ada", "--yes")
    shared.catalog.with_name("catalog.db-shm").unlink()  # as after a copy: whoever comes next makes it anew
    for who in (shared.bob, shared.ada):
        shared.done(who, "role", "grant", "plan", "ada")


@pytest.mark.parametrize("closed", ["", "-wal", "-shm"])
def test_a_file_that_is_not_the_accounts_to_write_is_named_with_its_owner(shared: Shared, closed: str) -> None:
    shared.catalog.with_name(f"catalog.db{closed}").chmod(0o600)

    refused = shared.bob("role", "grant", "plan", "bob", "--yes")
    outside = shared.eve("ls")

    assert refused.code == UNUSABLE
    assert f"catalog.db{closed} belongs to ada, and this account may not read and write it" in refused.stderr
    assert "chmod 2770" in refused.stderr
    assert (outside.code, "cannot be reached: Permission denied" in outside.stderr) == (UNUSABLE, True)
