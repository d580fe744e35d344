"""The guide for reviewers names every field, code and reason there is, and its example does what it says."""

import re
import shlex

import pytest

from artifactctl.cli.main import program
from artifactctl.policy.expectations import because_words
from artifactctl.policy.findings import Code, Level
from artifactctl.policy.fixtures import Expected, GivenArtifact, GivenChild, TestEntry
from artifactctl.policy.language import Defaults, Keep, Limits, Match, PolicyDocument, ProtectEntry, Require, RuleEntry
from artifactctl.policy.linting import lint
from artifactctl.policy.reading import load_policy, read_policy
from artifactctl.policy.sections import Section
from artifactctl.policy.testing import checked_policy, run_tests
from tests.bench.parsing import parse
from tests.bench.sandbox import CHECKOUT
from tests.builders import NOON
from tests.policy.written import policy_text

GUIDE = (CHECKOUT / "policies" / "README.md").read_text(encoding="utf-8")
EXAMPLE = [("ours.yaml", re.search(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)[1])]  # type: ignore[index]
SECTIONS = (
    PolicyDocument,
    Defaults,
    Limits,
    ProtectEntry,
    RuleEntry,
    Match,
    Keep,
    Require,
    TestEntry,
    GivenArtifact,
    GivenChild,
    Expected,
)


def test_the_rule_to_copy_is_free_of_findings_and_passes_its_tests() -> None:
    assert lint(read_policy(EXAMPLE), now=NOON, require_tests=True) == ()
    assert [outcome.mismatches for outcome in run_tests(*checked_policy(EXAMPLE))] == [()]


@pytest.mark.parametrize("section", SECTIONS, ids=[section.__name__ for section in SECTIONS])
def test_every_field_is_explained(section: type[Section]) -> None:
    prose = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
    words = set(re.findall(r"[a-z_.]+", " ".join(re.findall(r"`([^`]+)`", prose))))
    fields = {field.alias or name for name, field in section.model_fields.items()}

    assert fields - words == set()


def test_every_code_is_explained_at_its_level() -> None:
    explained = dict(re.findall(r"^\| (AP\d{3}) \| (error|warning) \|", GUIDE, flags=re.MULTILINE))

    assert explained == {code.value: code.level.value for code in Code}
    assert set(explained.values()) == {level.value for level in Level}


def test_every_command_in_the_guide_is_one_that_the_program_takes() -> None:
    spoken = re.findall(r"^\$ (artifactctl [^#\n]*)", GUIDE, flags=re.MULTILINE)
    spoken += re.findall(r"`(artifactctl [a-z][^`]*)`", GUIDE)

    assert len(spoken) >= 10
    for line in spoken:
        parse(program, shlex.split(line)[1:])


def test_every_reason_is_named() -> None:
    words = because_words(load_policy([("p.yaml", policy_text())]))

    assert [word for word in words if f"`{word}`" not in GUIDE] == []
