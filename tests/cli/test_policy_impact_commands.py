"""`policy diff` and `policy explain` as typed, over the stocked catalog and over its export."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.policy.written import policy_text

PINNED = """
  - name: corpora
    reason: Everything else is made from them
    match: {kind: merged_corpus}
"""
KEEPS_NEW_STATES = """
  - name: new-states
    reason: They were made yesterday
    match: {name: scratch/hs-new}
"""
OFFERS_OLD_STATES = """
  - name: old-states
    match: {kind: hidden_states, superseded: true}
"""
OFFERS_STATES = """
  - name: states
    match: {kind: hidden_states}
"""


def write(file: Path, **sections: str) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(policy_text(**sections), encoding="utf-8")
    return str(file)


def payload(result: Any, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.fixture
def old(stocked: Any) -> str:
    return write(stocked.folder / "old.yaml", protect=PINNED, rules=OFFERS_OLD_STATES)


@pytest.fixture
def new(stocked: Any) -> str:
    return write(stocked.folder / "new.yaml", rules=OFFERS_STATES)


def test_the_difference_has_the_fields_that_scripts_rely_on(stocked: Any, old: str, new: str) -> None:
    found = payload(stocked.run("policy", "diff", old, new, "--json"), 3)

    assert found["schema"] == "artifactctl.policy-diff/1"
    assert (found["risk"], found["loses_protection"], found["refused"]) == ("severe", True, False)
    assert {"now", "in_7_days", "in_30_days"} <= set(found)
    now = found["now"]
    assert [(item["name"], item["allocated_bytes"]) for item in now["newly_reclaimed"]] == [("scratch/hs-new", 2**21)]
    assert now["newly_reclaimed"][0]["before"]["because"] == "no_rule"
    assert now["newly_reclaimed"][0]["after"] == {
        "decision": "quarantine",
        "because": "rule.states",
        "rule": "states",
        "sentence": "quarantine: states offers it and nothing in the rule keeps it",
    }
    assert [(item["name"], item["protect"]) for item in now["lost_protection"]] == [("scratch/corpus", "corpora")]
    assert [item["name"] for item in now["reason_changed"]] == ["scratch/hs-old"]
    assert [(item["section"], item["name"], item["artifacts"]) for item in now["removed_rules"]] == [
        ("protect", "corpora", ["scratch/corpus"]),
        ("rules", "old-states", ["scratch/hs-old"]),
    ]
    assert (now["newly_kept"], now["newly_reclaimed_bytes"]) == ([], 2**21)


@pytest.mark.parametrize("name", ["catalog.json", "catalog.json.zst"])
def test_an_export_gives_the_answer_of_the_catalog_without_the_catalog(
    stocked: Any, old: str, new: str, name: str
) -> None:
    file = str(stocked.folder / name)
    assert stocked.run("catalog", "export", file).exit_code == 0
    here = payload(stocked.run("policy", "diff", old, new, "--json"), 3)
    shutil.rmtree(stocked.location.parent)

    assert payload(stocked.run("policy", "diff", old, new, "--snapshot", file, "--json"), 3) == here
    assert not stocked.location.exists()


def test_a_harmless_change_exits_0_and_one_that_a_limit_refuses_exits_3(stocked: Any, old: str) -> None:
    same = stocked.run("policy", "diff", old, old)
    limits = "{max_bytes: 1MiB, max_artifacts: 5}"
    tight = write(stocked.folder / "tight.yaml", protect=PINNED, rules=OFFERS_OLD_STATES, limits=limits)
    refused = stocked.run("policy", "diff", old, tight)

    assert (same.exit_code, "the policies say the same" in same.stdout) == (0, True)
    assert refused.exit_code == 3
    said = "now, a run would be REFUSED: 3.00 MiB would go, 2.00 MiB above the limit of 1.00 MiB a run"
    assert said in refused.stdout


def test_a_revision_in_git_is_compared_with_the_working_tree(stocked: Any) -> None:
    folder = stocked.volume / "policies"
    write(folder / "states.yaml", protect=PINNED, rules=OFFERS_OLD_STATES)
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    for words in (("init", "-q"), ("add", "policies"), ("commit", "-q", "-m", "Begin")):
        subprocess.run(
            ["git", *who, *words], cwd=stocked.volume, check=True, env={**os.environ, "HOME": str(stocked.folder)}
        )
    write(folder / "states.yaml", protect=PINNED, rules=OFFERS_STATES)

    found = payload(stocked.run("policy", "diff", "git:HEAD:policies/", "policies/", "--json"))

    assert [item["name"] for item in found["now"]["newly_reclaimed"]] == ["scratch/hs-new"]
    assert found["risk"] == "moderate"


def test_a_policy_that_cannot_be_used_is_an_error_with_its_place(stocked: Any, old: str) -> None:
    broken = stocked.folder / "broken.yaml"
    broken.write_text(policy_text(rules="\n  - {name: x, match: {kind: nonsense}}\n"), encoding="utf-8")

    result = stocked.run("policy", "diff", old, str(broken))

    assert result.exit_code == 2
    assert f"{broken}:" in result.stderr


def test_an_explanation_marks_the_verdict_that_decided(stocked: Any, old: str) -> None:
    found = payload(stocked.run("policy", "explain", "scratch/corpus", "--policy", old, "--json"))
    by_path = stocked.run("policy", "explain", "hs-new", "--policy", old)

    assert (found["decision"], found["because"]) == ("keep", "protect.corpora")
    assert [verdict["name"] for verdict in found["verdicts"] if verdict["decided"]] == ["corpora"]
    assert by_path.exit_code == 0
    assert "scratch/hs-new stays\nkeep: no rule matches it" in by_path.stdout


def test_without_a_policy_file_the_one_in_force_explains(stocked: Any) -> None:
    result = stocked.run("policy", "explain", "scratch/hs-old")

    assert result.exit_code == 0, result.output
    assert "the policy in force" in result.stderr
    assert "scratch/hs-old" in result.stdout


def test_a_policy_has_nothing_to_say_about_what_is_gone(stocked: Any, old: str) -> None:
    assert stocked.run("root", "forget", "scratch", "--yes").exit_code == 0

    result = stocked.run("policy", "explain", "scratch/hs-old", "--policy", old)

    assert result.exit_code == 2
    assert "no copy below a managed root" in result.stderr


@pytest.fixture
def configured(stocked: Any) -> Path:
    """A place where the configuration protects what two policies would both offer, and lets little go at once."""
    write(stocked.folder / "site" / "site.yaml", protect=KEEPS_NEW_STATES)
    (stocked.volume / "artifactctl.toml").write_text('[policy]\nfiles = ["../site"]\nmax_bytes = "1MiB"\n')
    return stocked.folder / "site" / "site.yaml"


def test_what_is_configured_protects_and_limits_what_a_diff_shows(stocked: Any, configured: Path, new: str) -> None:
    nothing = write(stocked.folder / "nothing.yaml")

    found = payload(stocked.run("policy", "diff", nothing, new, "--json"), 3)
    text = stocked.run("policy", "diff", nothing, new)

    assert [item["name"] for item in found["now"]["newly_reclaimed"]] == ["scratch/hs-old"]
    assert (found["loses_protection"], found["refused"]) == (False, True)
    (cap,) = found["now"]["exceeded_caps"]
    assert (cap["name"], cap["limit"], cap["exceeded_by"]) == ("bytes", 2**20, 2**21)
    assert found["configured"] == [
        {"section": "protect", "name": "new-states", "what": "../site/site.yaml:5:5"},
        {"section": "limits", "name": "max_bytes", "what": "1MiB"},
    ]
    assert "configured here beside the files, and counted\n" in text.stdout
    assert "REFUSED: 3.00 MiB would go, 2.00 MiB above the limit of 1.00 MiB a run" in text.stdout


def test_a_configuration_beside_a_snapshot_is_counted_and_said_and_without_one_only_the_files_count(
    stocked: Any, configured: Path, new: str
) -> None:
    file, nothing = str(stocked.folder / "catalog.json"), write(stocked.folder / "nothing.yaml")
    assert stocked.run("catalog", "export", file).exit_code == 0
    words = ("policy", "diff", nothing, new, "--snapshot", file)

    counted = stocked.run(*words, "--format", "markdown")
    (stocked.volume / "artifactctl.toml").unlink()
    bare = payload(stocked.run(*words, "--json"))

    assert counted.exit_code == 3
    assert "Configured here beside the files, and counted:\n\n| section | name | what |" in counted.stdout
    assert "| protect | `new-states` | ../site/site.yaml:5:5 |" in counted.stdout
    assert bare["configured"] == []
    assert [item["name"] for item in bare["now"]["newly_reclaimed"]] == ["scratch/hs-old", "scratch/hs-new"]


def test_a_protect_taken_out_of_a_configured_file_is_lost(stocked: Any, configured: Path) -> None:
    proposed = write(stocked.folder / "proposed.yaml")

    found = payload(stocked.run("policy", "diff", "../site", proposed, "--json"), 3)

    assert [item["name"] for item in found["now"]["lost_protection"]] == ["scratch/hs-new"]
    assert [(item["section"], item["name"]) for item in found["configured"]] == [("limits", "max_bytes")]


def test_an_explanation_of_a_file_counts_what_is_configured(stocked: Any, configured: Path, new: str) -> None:
    result = stocked.run("policy", "explain", "scratch/hs-new", "--policy", new)

    assert result.exit_code == 0, result.output
    assert "keep: protected by new-states: They were made yesterday" in result.stdout
    assert "counted: protect new-states (../site/site.yaml:5:5), max_bytes 1MiB" in result.stderr
    plan = json.loads(stocked.run("reclaim", "--policy", new, "--dry-run", "--json").stdout)
    answer = payload(stocked.run("policy", "explain", "scratch/hs-new", "--policy", new, "--json"))
    shown = payload(stocked.run("policy", "show", new, "--json"))
    assert answer["policy_digest"] == plan["policy_digest"] == shown["digest"]
