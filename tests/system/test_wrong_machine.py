"""A plan file that is tried on another machine, which has the same paths and the same content."""

import pytest

from tests.artifacts.hidden_states import safetensors_shards
from tests.bench.command_line import command_line
from tests.bench.machines import DATA
from tests.hosts.act_ground import picture
from tests.system.rented import WAIVED, made_known, must, there

pytestmark = pytest.mark.system


@pytest.fixture
def two(machines):
    """Two machines with hidden states at the same path."""
    made = machines("alpha"), machines("beta")
    for machine in made:
        safetensors_shards(there(machine, "hs"))
    return made


@pytest.fixture
def person(tmp_path):
    """Return a maker of people with a home of their own, who type here or on a machine."""

    def make(name, prefix=()):
        folder = tmp_path / name
        folder.mkdir()
        return command_line(folder, prefix=prefix)

    return make


def check_refused(refused, alpha, beta):
    assert refused.code == 4, refused
    for named in ("alpha", "beta", alpha.machine_id, beta.machine_id):
        assert named in refused.stderr
    assert there(beta, "hs").exists()


def test_what_was_planned_on_one_machine_is_refused_on_another_and_both_are_named(two, person, tmp_path):
    plan = tmp_path / "plan.json"
    typed = [person(f"on-{machine.name}", machine.entering) for machine in two]
    for run in typed:
        must(run, "init", "--yes")
        must(run, "root", "add", DATA, "--name", "data")
        must(run, "scan", "data")
    must(typed[0], "reclaim", "data/hs", *WAIVED, "--out", plan)
    before = picture(there(two[1], "hs"))

    refused = typed[1]("apply", plan, "--reason", "room", "--yes")

    check_refused(refused, *two)
    assert picture(there(two[1], "hs")) == before
    must(typed[0], "apply", plan, "--reason", "room", "--yes")


def test_what_was_planned_for_one_machine_is_refused_by_a_catalog_that_knows_only_the_other(two, person, tmp_path):
    alpha, beta = two
    plan = tmp_path / "plan.json"
    ada, bob = person("ada"), person("bob")
    for run, machine in ((ada, alpha), (bob, beta)):
        must(run, "init", "--yes")
        made_known(run, machine)
        must(run, "root", "add", f"{machine.name}:{DATA}", "--name", "data")
        must(run, "scan", "data")
    must(ada, "reclaim", "data/hs", *WAIVED, "--out", plan)

    check_refused(bob("apply", plan, "--reason", "room", "--yes"), alpha, beta)
    assert there(alpha, "hs").exists()
