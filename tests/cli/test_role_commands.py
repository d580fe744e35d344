"""`role`, and what the other commands say to somebody who lacks one: who, what, which role, who can give it."""

import json

import pytest

from artifactctl.domain.accounts import Account
from artifactctl.domain.errors import ExitCode
from artifactctl.domain.roles import Role

ADA = Account(login="ada", host="here", user_id=1001)
BOB = Account(login="bob", host="here", user_id=1002)


def payload(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def events(shop, action):
    return payload(shop.run("audit", "ls", "--action", action, "--json"))["events"]


@pytest.fixture
def team(stocked):
    """Return the place with one administrator, ada, who may also plan and apply."""
    for role in ("apply", "plan"):
        assert stocked.run_as(ADA, "role", "grant", role, "ada", "--yes", "--reason", "she runs it").exit_code == 0
    return stocked


def test_without_roles_it_says_that_everybody_may_do_everything(stocked):
    listed = stocked.run("role", "ls")

    assert listed.stdout == "no role is recorded: everybody who can open the catalog may do everything\n"
    assert payload(stocked.run("role", "ls", "--json"))["in_force"] is False


def test_the_first_grant_asks_since_it_changes_everything_for_everybody(stocked):
    asked = stocked.run_as(ADA, "role", "grant", "apply", "bob")
    done = stocked.run_as(ADA, "role", "grant", "apply", "bob", "--yes")

    assert asked.exit_code == ExitCode.USAGE
    assert "from now on each act takes its role" in asked.stderr
    assert done.stdout == "bob has the role `apply`\nada has the role `administer`\n"
    assert stocked.run_as(ADA, "role", "grant", "purge", "bob").exit_code == 0, "later ones ask nothing"


def test_the_list_says_who_has_what_and_what_that_means_for_whoever_asks(team):
    listed = team.run_as(BOB, "role", "ls").stdout
    told = payload(team.run_as(ADA, "role", "ls", "--json"))

    assert "administer  ada" in listed
    assert "bob@here may\n  ✗ make a reclaim plan: takes the role `plan`\n" in listed
    assert "  ✓ grant or revoke a role\n" in team.run_as(ADA, "role", "ls").stdout
    assert {(each["role"], each["subject"], each["subject_kind"]) for each in told["roles"]} == {
        (role, "ada", "account") for role in ("administer", "apply", "plan")
    }
    assert told["schema"] == "artifactctl.roles/1"
    assert told["yours"] == {"subject": "ada", "owns_catalog": False, "roles": ["administer", "apply", "plan"]}


def test_granting_and_revoking_are_audited_with_their_reasons(team):
    team.run_as(ADA, "role", "revoke", "plan", "ada", "--reason", "she left")

    assert {event["reason"] for event in events(team, "role.grant")} == {
        "apply for ada: she runs it",
        "administer for ada: she runs it",
        "plan for ada: she runs it",
    }
    assert [(event["actor"], event["reason"]) for event in events(team, "role.revoke")] == [
        ("ada@here", "plan for ada: she left")
    ]
    assert payload(team.run("audit", "verify", "--json"))["ok"] is True


def test_nobody_locks_themselves_out(team):
    refused = team.run_as(ADA, "role", "revoke", "administer", "ada")

    assert refused.exit_code == ExitCode.REFUSED
    assert "without that ada@here could not grant anything any more" in refused.stderr
    assert "let another administrator revoke it" in refused.stderr


REFUSALS = {
    "release a hold": ("release", ("hold", "release", "hs-new", "--reason", "over")),
    "make another machine known, or forget one": ("administer", ("host", "add", "gpu1", "ssh://nobody.invalid")),
    "add, attest or forget a root": ("administer", ("root", "forget", "scratch", "--yes")),
    "put a backup in the catalog's place, or move it": ("administer", ("catalog", "copy", "elsewhere.db", "--yes")),
    "grant or revoke a role": ("administer", ("role", "grant", "purge", "bob")),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_says_who_what_and_which_role_and_is_audited(team, what):
    role, words = REFUSALS[what]
    team.run("hold", "add", "hs-new", "--reason", "keep")
    before = len(events(team, "role.refused"))

    refused = team.run_as(BOB, *words)

    assert refused.exit_code == ExitCode.REFUSED, refused.output
    assert f"error: bob@here may not {what}: that takes the role `{role}`" in refused.stderr
    assert f"an administrator (ada) can give it: `artifactctl role grant {role} bob`" in refused.stderr
    (event,) = events(team, "role.refused")[before:]
    shown = payload(team.run("audit", "show", str(event["id"]), "--json"))
    assert (event["actor"], shown["evidence"]["missing_role"]) == ("bob@here", role)
    assert payload(team.run("audit", "verify", "--json"))["ok"] is True
    assert not (team.volume / "elsewhere.db").exists()


def test_adding_a_root_without_the_role_leaves_no_marker_behind(team):
    folder = team.folder / "other"
    folder.mkdir()

    refused = team.run_as(BOB, "root", "add", str(folder))

    assert refused.exit_code == ExitCode.REFUSED
    assert list(folder.iterdir()) == []


def test_what_takes_no_role_stays_free(team):
    for words in (
        ("hold", "add", "hs-new", "--reason", "mine"),
        ("ls",),
        ("why", "hs-new"),
        ("reclaim", "hs-old", "--dry-run"),
        ("record", "hs-new", "--metric", "loss=1"),
    ):
        assert "takes the role" not in team.run_as(BOB, *words).stderr, words


@pytest.mark.parametrize("word", ["", "user:ada", "group:"])
def test_who_names_nobody_is_a_usage_error(stocked, word):
    refused = stocked.run("role", "grant", "apply", word, "--yes")

    assert refused.exit_code == ExitCode.USAGE
    assert "names nobody" in refused.stderr


def test_the_roles_are_offered_by_the_command_line(stocked):
    refused = stocked.run("role", "grant", "everything", "ada")

    assert refused.exit_code == ExitCode.USAGE
    assert all(role.value in refused.stderr for role in Role)


def test_on_a_server_its_own_roles_are_granted_to_and_it_can_be_told_to_withhold_the_rest(shop, catalog_database):
    def run(*words):
        return shop.run("role", *words, "--catalog", catalog_database)

    granted = run("grant", "approve", "pg_monitor", "--yes")
    statements = run("sql", "pg_monitor").stdout.splitlines()
    unknown, group = run("grant", "plan", "pg_monitr"), run("grant", "plan", "group:ml")

    assert granted.exit_code == 0, granted.output
    assert "pg_monitor has the role `approve`" in granted.stdout
    assert 'GRANT INSERT ON "approval" TO "pg_monitor";' in statements
    assert 'GRANT INSERT ON "plan_step_use" TO "pg_monitor";' not in statements
    assert "has no role `pg_monitr`" in unknown.stderr
    assert "make people members of it: GRANT ml TO ada" in group.stderr
    assert payload(run("ls", "--json"))["roles"][0]["subject_kind"] == "database_role"


def test_a_file_cannot_be_told_to_withhold_anything(stocked):
    refused = stocked.run("role", "sql", "ada")

    assert refused.exit_code == ExitCode.USAGE
    assert "kept by nobody who could refuse anything" in refused.stderr
