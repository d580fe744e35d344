"""One catalog on a PostgreSQL server and one root: an operator at a laptop over ssh, another on the machine itself."""

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pytest

from tests.bench.command_line import command_line
from tests.bench.machines import DATA, Machine
from tests.bench.volumes import FilesystemKind
from tests.bench.warm_command_line import WarmCommandLine, fork_server
from tests.hosts.act_ground import picture
from tests.system.rented import WAIVED, made_known, must, outcome_of, paused_there, registered, ssh_home_of, there

pytestmark = pytest.mark.system


@dataclass(frozen=True, kw_only=True)
class Team:
    """`laptop` reaches alpha over ssh, `local` is typed on alpha; both have the same catalog."""

    laptop: WarmCommandLine
    local: WarmCommandLine
    alpha: Machine

    def states(self) -> dict[str, str]:
        return {each["name"]: each["state"] for each in must(self.laptop, "ls", "--json").json()["artifacts"]}


@pytest.fixture
def database(postgres, catalog_template):
    """The name of a database of the test's own with a new catalog in it."""
    name = postgres.new_database(template=catalog_template)
    yield name
    postgres.drop_database(name)


@pytest.fixture
def typed_on(postgres, database, tmp_path):
    """Return a maker of command lines that are typed on a machine and have the team's catalog."""
    with ExitStack() as stack:

        def make(machine: Machine) -> WarmCommandLine:
            folder = tmp_path / f"on-{machine.name}"
            folder.mkdir()
            plain = command_line(folder, prefix=machine.entering)
            return WarmCommandLine(
                home=plain.home,
                cwd=plain.cwd,
                prefix=plain.prefix,
                server=stack.enter_context(fork_server(prefix=machine.entering)),
                extra_environment={"ARTIFACTCTL_CATALOG": postgres.url(database, host=machine.gateway)},
            )

        yield make


@pytest.fixture
def team(machines, volumes, postgres, database, typed_on, warm_cli) -> Team:
    alpha = machines("alpha", volume=volumes(FilesystemKind.EXT4))
    laptop = replace(warm_cli, extra_environment={"ARTIFACTCTL_CATALOG": postgres.url(database)})
    made_known(laptop, alpha)
    must(laptop, "root", "add", f"alpha:{DATA}", "--name", "data")
    return Team(laptop=laptop, local=typed_on(alpha), alpha=alpha)


def test_a_machine_that_others_reach_over_ssh_is_the_same_one_to_whoever_types_on_it(team):
    registered(team.laptop, team.alpha, "hs")

    must(team.local, "scan")
    must(team.local, "root", "add", DATA)
    verified = must(team.local, "verify", DATA / "hs", "--level", "members", "--json").json()["results"]
    known = must(team.local, "host", "ls", "--json").json()["hosts"]

    assert [each["name"] for each in verified] == ["hs"]
    assert [each["name"] for each in known if each["machine_id"] == team.alpha.machine_id] == ["alpha"]


@pytest.mark.parametrize("made", ["at the laptop", "on the machine"])
def test_a_plan_is_for_the_machine_wherever_it_was_made_and_is_applied(team, made, tmp_path):
    hs = registered(team.laptop, team.alpha, "hs")
    planner, other = (team.laptop, team.local) if made == "at the laptop" else (team.local, team.laptop)
    plan = tmp_path / "plan.json"
    must(planner, "reclaim", hs, *WAIVED, "--out", plan)

    applied = must(other, "apply", plan, "--reason", "room", "--yes", "--json").json()

    assert [step["outcome"] for step in applied["steps"]] == ["quarantined"]
    assert not there(team.alpha, "hs").exists()


def test_of_two_who_plan_and_apply_at_once_on_two_machines_each_step_is_done_by_one_and_seen_whole(team, tmp_path):
    names = [registered(team.laptop, team.alpha, f"hs-{number}") for number in range(4)]
    plan = tmp_path / "plan.json"
    must(team.laptop, "reclaim", *names[:3], *WAIVED, "--out", plan)

    running = [
        operator.start(*words)
        for operator in (team.laptop, team.local)
        for words in (
            ("apply", plan, "--reason", "room", "--yes", "--json"),
            ("reclaim", *names, *WAIVED, "--yes", "--json"),
        )
    ]
    seen = [team.states()]
    while any(process.poll() is None for process in running):
        seen.append(team.states())
        time.sleep(0.5)
    done = [outcome_of(process) for process in running]

    outcomes = [
        (step["name"], step["outcome"])
        for outcome in done
        if outcome.stdout.startswith("{")
        for step in json.loads(outcome.stdout).get("steps", [])
    ]
    set_aside = [name for name, what in outcomes if what == "quarantined"]
    assert len(set_aside) == len(set(set_aside)), outcomes
    unforeseen = [outcome.stderr for outcome in done if outcome.code not in (0, 4, 5, 6)]
    assert not unforeseen, "\n".join(unforeseen)
    assert all("unexpected" not in outcome.stderr for outcome in done)
    assert all(set(states) == set(names) for states in seen)
    assert {state for states in seen for state in states.values()} <= {"live", "quarantining", "quarantined"}
    must(team.local, "doctor", "--repair", "--yes")
    assert {name for name, state in team.states().items() if state == "quarantined"} == set(set_aside)
    assert {name for name in names if not there(team.alpha, name).exists()} == set(set_aside)
    assert must(team.local, "doctor", "--json").json()["findings"] == []
    must(team.laptop, "audit", "verify")


def test_an_operator_elsewhere_who_was_overtaken_on_the_machine_does_nothing_more(team):
    hs = registered(team.laptop, team.alpha, "hs")
    before = picture(there(team.alpha, "hs"))

    with paused_there(team.alpha, "set-aside:begun", team.laptop, "reclaim", hs, *WAIVED, "--yes") as late:
        busy = team.local("doctor", "--repair", "--yes")
        there(team.alpha, ".artifactctl", "lock").unlink()
        must(team.local, "doctor", "--repair", "--yes")
        must(team.local, "hold", "add", hs, "--reason", "needed after all")
        fence = there(team.alpha, ".artifactctl", "fence.json").read_bytes()
    overtaken = outcome_of(late)

    assert busy.code == 6
    assert overtaken.code != 0, overtaken
    assert picture(there(team.alpha, "hs")) == before
    assert team.states() == {hs: "live"}
    assert there(team.alpha, ".artifactctl", "fence.json").read_bytes() == fence
    assert must(team.laptop, "doctor", "--json").json()["findings"] == []
    taken = must(team.laptop, "audit", "ls", "--action", "root.take_over", "--json").json()["events"]
    assert [event["host"] for event in taken] == ["alpha"]
    must(team.laptop, "audit", "verify")


def test_a_clone_with_the_same_machine_id_is_not_the_machine_that_others_reach(team, machines, typed_on):
    clone = machines("beta", machine_id=team.alpha.machine_id)
    registered(team.laptop, team.alpha, "hs")

    refused = typed_on(clone)("scan", "data")

    assert refused.code != 0, refused
    assert team.states() == {"hs": "live"}


def test_a_machine_that_opened_the_catalog_before_it_was_added_over_ssh_stays_one(
    machines, volumes, postgres, database, typed_on, warm_cli
):
    alpha = machines("alpha", volume=volumes(FilesystemKind.EXT4))
    laptop = replace(warm_cli, extra_environment={"ARTIFACTCTL_CATALOG": postgres.url(database)})
    local = typed_on(alpha)
    must(local, "root", "add", DATA, "--name", "data")
    ssh_home_of(laptop).can_enter(alpha)
    ssh_home_of(laptop).knows(alpha)

    renamed = laptop("host", "add", "gpu1", alpha.address())
    must(laptop, "host", "add", "alpha", alpha.address())
    hs = registered(laptop, alpha, "hs")
    known = must(laptop, "host", "ls", "--json").json()["hosts"]

    assert renamed.code == 4
    assert "known as alpha already" in renamed.stderr
    assert f"artifactctl host add alpha {alpha.address()}" in renamed.stderr
    assert [each["name"] for each in known if each["machine_id"] == alpha.machine_id] == ["alpha"]
    assert must(laptop, "verify", hs, "--level", "members", "--json").json()["results"][0]["name"] == hs
    assert must(local, "verify", hs, "--level", "members", "--json").json()["results"][0]["name"] == hs
