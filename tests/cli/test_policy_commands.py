"""`policy lint`, `policy test`, `policy show`, `policy schema` at the command line."""

import json
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from artifactctl import audit
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.policy.findings import Code
from tests.policy.written import policy_text

RULE = "[{name: states, match: {kind: hidden_states}, keep: {last: {n: 1, group_by: [folder]}}}]"
FAILING = """
- name: it goes
  now: 2026-11-30T00:00:00Z
  given: [{id: a, kind: hidden_states, path: /data/a, age: 9d}]
  expect: {a: {decision: quarantine, because: rule.states}}
"""

SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "additionalProperties": False,
                "required": ["tool"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "additionalProperties": False,
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "additionalProperties": False,
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/rule"}},
                                },
                            }
                        },
                    },
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                },
            },
        },
    },
    "$defs": {
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": {"additionalProperties": False, "required": ["text"], "properties": {"text": {"type": "string"}}},
        "positive": {"type": "integer", "minimum": 1},
        "rule": {
            "additionalProperties": False,
            "required": ["id"],
            "properties": {
                "id": {"type": "string"},
                "shortDescription": {"$ref": "#/$defs/message"},
                "defaultConfiguration": {
                    "additionalProperties": False,
                    "properties": {"level": {"$ref": "#/$defs/level"}},
                },
            },
        },
        "result": {
            "additionalProperties": False,
            "required": ["message"],
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": 0},
                "level": {"$ref": "#/$defs/level"},
                "message": {"$ref": "#/$defs/message"},
                "locations": {
                    "type": "array",
                    "items": {
                        "additionalProperties": False,
                        "properties": {
                            "physicalLocation": {
                                "additionalProperties": False,
                                "required": ["artifactLocation"],
                                "properties": {
                                    "artifactLocation": {
                                        "additionalProperties": False,
                                        "properties": {"uri": {"type": "string", "format": "uri-reference"}},
                                    },
                                    "region": {
                                        "additionalProperties": False,
                                        "properties": {
                                            "startLine": {"$ref": "#/$defs/positive"},
                                            "startColumn": {"$ref": "#/$defs/positive"},
                                        },
                                    },
                                },
                            }
                        },
                    },
                },
            },
        },
    },
}
"""The part of the SARIF 2.1.0 schema that is about what we write, with nothing else allowed."""


@pytest.fixture
def folder(shop: Any) -> Path:
    """Return the working directory of the commands."""
    shop.volume.mkdir(exist_ok=True)
    return shop.volume


def test_sarif_is_what_the_standard_says_and_names_every_code(shop: Any, folder: Path) -> None:
    (folder / "größe, 1.yaml").write_text(policy_text(rules=RULE, protect="[{name: p}]"))

    done = shop.run("policy", "lint", "größe, 1.yaml", "--format", "sarif")

    log = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules)) == len(Code)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "gr%C3%B6%C3%9Fe%2C%201.yaml"
    assert done.exit_code == 3


def test_annotations_escape_what_github_would_misread(shop: Any, folder: Path) -> None:
    (folder / "a,b.yaml").write_text(policy_text(limits='{max_bytes: "100%\\n", max_artifacts: 1}'))

    done = shop.run("policy", "lint", "a,b.yaml", "--format", "github")

    (line,) = done.stdout.splitlines()
    assert line.startswith("::error file=a%2Cb.yaml,line=3,col=10,title=AP020::max_bytes: `100%25\\n`")


def test_a_failing_test_shows_both_sides_and_ends_with_code_three(shop: Any, folder: Path) -> None:
    (folder / "p.yaml").write_text(policy_text(rules=RULE, tests=FAILING))

    done = shop.run("policy", "test", "p.yaml")

    assert done.exit_code == 3
    assert "FAIL  p.yaml:6:5: it goes" in done.stdout
    assert "a: expected quarantine because rule.states" in done.stdout
    assert "came out keep because keep.last, rule states" in done.stdout
    assert "1 test: 0 passed, 1 failed" in done.stdout
    answer = json.loads(shop.run("policy", "test", "p.yaml", "--json").stdout)
    (mismatch,) = answer["tests"][0]["mismatches"]
    assert answer["schema"] == "artifactctl.policy-test/1"
    assert (answer["ok"], mismatch["artifact"], mismatch["because"]) == (False, "a", "keep.last")


def test_what_is_wrong_with_files_is_told_one_thing_a_line(shop: Any, folder: Path) -> None:
    (folder / "p.yaml").write_text(policy_text(limits="{max_bytes: 5g, max_artifacts: 0.5}", rules=RULE))

    done = shop.run("policy", "test", "p.yaml")

    assert done.exit_code == 2
    first, second, hint = done.stderr.splitlines()
    assert first.startswith("error: p.yaml:3:10: AP020 ")
    assert second.startswith("error: p.yaml:3:25: AP001 ")
    assert hint.startswith("hint: correct the policy")


def test_both_endings_of_yaml_files_in_a_folder_are_read(shop: Any, folder: Path) -> None:
    (folder / "policies").mkdir()
    (folder / "policies" / "b.yaml").write_text(policy_text(name="b"))
    (folder / "policies" / "a.yml").write_text(policy_text(name="a"))
    (folder / "policies" / ".hidden.yaml").write_text("nothing that is read")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "before"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=folder, check=True)

    for word in ("policies", "git:main:policies"):
        answer = json.loads(shop.run("policy", "show", word, "--json").stdout)
        assert (answer["policy"]["name"], answer["files"]) == ("a, b", [f"{word}/a.yml", f"{word}/b.yaml"])


@pytest.mark.parametrize("pattern", ["nothing has this name", "("])
def test_a_pattern_that_finds_no_test_or_is_none_is_an_error(shop: Any, folder: Path, pattern: str) -> None:
    (folder / "p.yaml").write_text(policy_text(rules=RULE, tests=FAILING))

    assert shop.run("policy", "test", "p.yaml", "--run", pattern).exit_code == 2


def test_the_shipped_default_is_tested_where_nothing_is_configured(shop: Any, folder: Path) -> None:
    done = shop.run("policy", "test")

    assert done.exit_code == 0, done.stderr
    assert "3 tests: 3 passed, 0 failed" in done.stdout
    assert "policies/default.yaml" in done.stderr


def test_a_revision_is_read_without_a_checkout(shop: Any, folder: Path) -> None:
    policies = folder / "policies"
    policies.mkdir()
    (policies / "a.yaml").write_text(policy_text(name="before", rules=RULE))
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "before"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=folder, check=True)
    (policies / "a.yaml").write_text(policy_text(name="after", rules=RULE))

    for word in ("git:main:policies", "git:HEAD:policies/", "git:main:policies/a.yaml"):
        answer = json.loads(shop.run("policy", "show", word, "--json").stdout)
        assert answer["policy"]["name"] == "before"
        assert answer["files"] == [f"git:{word.split(':')[1]}:policies/a.yaml"]
    assert json.loads(shop.run("policy", "show", "policies", "--json").stdout)["policy"]["name"] == "after"
    for word in ("git:nowhere:policies", "git:main:elsewhere", "git:main", "git:--help:x"):
        assert shop.run("policy", "show", word).exit_code == 2


def test_the_configured_files_count_from_the_folder_of_the_configuration(shop: Any, folder: Path) -> None:
    (folder.parent / "rules").mkdir()
    (folder.parent / "rules" / "a.yaml").write_text(policy_text(name="configured"))
    (folder.parent / "artifactctl.toml").write_text('[policy]\nfiles = ["rules"]\nmax_artifacts = 7\n')

    answer = json.loads(shop.run("policy", "show", "--json").stdout)

    assert answer["files"] == [str(folder.parent / "rules" / "a.yaml")]
    assert answer["configured"]["max_artifacts"] == {"policy_file": 100, "in_force": 7}


def test_files_named_by_the_environment_are_shown_over_the_configured_ones(shop: Any, folder: Path) -> None:
    (folder / "over.yaml").write_text(policy_text(name="over", rules=RULE, defaults="{quarantine: 30d}"))

    done = shop.run("policy", "show", environment={"ARTIFACTCTL_POLICY_FILES": "over.yaml"})

    assert done.stdout.startswith("# policies/default.yaml, over.yaml\n")
    assert "name: over" in done.stdout
    assert "quarantine: 30d\n" in done.stdout


def test_lint_holds_the_files_against_a_catalog_that_is_named(stocked: Any) -> None:
    (stocked.volume / "p.yaml").write_text(
        policy_text(defaults="{quarantine: 3d}", rules="[{name: none, match: {name: 'sratch/**'}}]")
    )
    catalog = stocked.open()
    with catalog.writing("tester@test", stocked.clock.now()) as writing:
        for action, age in ((AuditAction.QUARANTINE_DONE, 20), (AuditAction.RESTORE_DONE, 15)):
            at = stocked.clock.now() - timedelta(days=age)
            entry = AuditEntry(at=at, actor="a@h", host="h", action=action, operation="o1", artifact="scratch/hs-old")
            audit.append(writing.connection, entry)
    catalog.close()

    done = stocked.run("policy", "lint", "p.yaml", "--catalog", str(stocked.location))
    without = stocked.run("policy", "lint", "p.yaml")
    exported = stocked.run("catalog", "export", str(stocked.folder / "catalog.json"))
    elsewhere = stocked.run("policy", "lint", "p.yaml", "--snapshot", str(stocked.folder / "catalog.json"))

    assert exported.exit_code == 0, exported.stderr
    assert [line.split(" ")[1] for line in elsewhere.stdout.splitlines()] == ["AP011", "AP030"]
    assert [line.split(" ")[1] for line in done.stdout.splitlines()] == ["AP050", "AP011", "AP030"]
    assert "of late somebody restored after 5d" in done.stdout
    assert [line.split(" ")[1] for line in without.stdout.splitlines()] == ["AP030"]
    assert (done.exit_code, without.exit_code) == (0, 0)


def test_the_schema_is_printed_as_it_is_committed(shop: Any, folder: Path) -> None:
    committed = Path(__file__).parents[2] / "policies" / "policy.schema.json"

    assert shop.run("policy", "schema").stdout == committed.read_text()
