"""`register --name` on what is registered already: it says so, and the old name still leads to it."""

import json

from tests.cli.stock import Shop


def test_a_new_name_is_said_and_the_old_one_leads_to_it(stocked: Shop) -> None:
    path = str(stocked.volume / "map")

    kept = stocked.run("register", path, "--kind", "vocab_map")
    once = stocked.run("register", path, "--name", "first")
    twice = stocked.run("register", path, "--name", "second", "--json")
    asked = stocked.run("show", "scratch/map")

    assert kept.stdout == "scratch/map is registered as vocab_map\n"
    assert "first is registered as vocab_map; it was called scratch/map until now" in once.stdout
    assert json.loads(twice.stdout)["name_before"] == "first"
    assert asked.exit_code == 2
    assert "the artifact `scratch/map` was renamed: it is called `second`" in asked.stderr
