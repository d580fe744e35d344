"""Which policy holds: configured files, the environment, files named for one run; safety is never lost on the way."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.configuration.limits import LimitLoosened
from artifactctl.configuration.policy_in_force import PolicyTexts, named_texts, policy_in_force
from artifactctl.configuration.settings import read_settings
from artifactctl.domain.errors import UsageError
from artifactctl.policy.layering import laid_over
from artifactctl.policy.ruleset import Policy

HEAD = "schema: artifactctl/policy/v1\nname: {name}\nlimits: {{max_bytes: {bytes}, max_artifacts: {artifacts}}}\n"
PROTECT = "protect:\n  - {{name: {name}, reason: Somebody needs it, match: {{name: '{name}-*'}}}}\n"
RULE = "rules:\n  - {{name: {name}, match: {{name: '{name}-*'}}}}\n"


def written(name: str, *, size: str = "1TiB", artifacts: int = 100) -> str:
    head = HEAD.format(name=name, bytes=size, artifacts=artifacts)
    return head + PROTECT.format(name=name) + RULE.format(name=name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with policies beside its configuration, and a folder in it where people work."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "site.yaml").write_text(written("site"))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "other.yaml").write_text(written("other", size="2TiB", artifacts=7))
    return tmp_path


def in_force(project: Path, toml: str = "", *, named: PolicyTexts = (), **environment: str) -> Policy:
    (project / "artifactctl.toml").write_text(toml)
    settings = read_settings(working_directory=project / "deep", environment={})
    return policy_in_force(settings, environment, working_directory=project / "deep", named=named)


FILES = '[policy]\nfiles = ["policies"]\n'


def test_with_no_configuration_the_shipped_default_holds(project: Path) -> None:
    policy = in_force(project)

    assert [rule.name for rule in policy.rules] == ["superseded", "rebuildable"]
    assert (policy.limits.max_bytes, policy.limits.max_artifacts) == (20 << 40, 500)
    assert policy.limits.approval_above_bytes is None
    assert policy.limits.approval_on_jump is None


def test_configured_files_are_found_from_the_file_that_names_them(project: Path) -> None:
    policy = in_force(project, FILES)

    assert (policy.name, [rule.name for rule in policy.rules]) == ("site", ["site"])
    assert str(policy.rules[0].place) == f"{project}/policies/site.yaml:7:6"


def test_limits_beside_policy_files_only_tighten_and_replace_those_of_the_default(project: Path) -> None:
    looser = "max_artifacts = 900\ngrace = '1d'\nquiet_time = '1s'\n"

    assert in_force(project, FILES + looser) == in_force(project, FILES)
    assert in_force(project, FILES + "max_artifacts = 9\n").limits.max_artifacts == 9
    alone = in_force(project, "[policy]\n" + looser)
    assert (alone.limits.max_artifacts, alone.grace) == (900, timedelta(days=1))


def test_files_named_for_one_run_bring_their_rules_and_lose_no_safety(project: Path) -> None:
    named = named_texts(["other.yaml"], working_directory=project / "deep")

    policy = in_force(project, FILES, named=named)

    assert [rule.name for rule in policy.rules] == ["other"]
    assert [protect.name for protect in policy.protects] == ["site", "other"]
    assert (policy.limits.max_bytes, policy.limits.max_artifacts) == (1 << 40, 7)


def test_a_variable_names_files_as_the_option_does(project: Path) -> None:
    named = named_texts(["other.yaml"], working_directory=project / "deep")

    by_option = in_force(project, FILES, named=named)

    assert in_force(project, FILES, ARTIFACTCTL_POLICY_FILES="other.yaml") == by_option
    assert in_force(project, FILES, named=named, ARTIFACTCTL_POLICY_FILES="other.yaml") == by_option


def test_a_variable_only_tightens_what_the_files_say(project: Path) -> None:
    assert in_force(project, FILES, ARTIFACTCTL_MAX_ARTIFACTS="9").limits.max_artifacts == 9
    with pytest.raises(LimitLoosened, match="ARTIFACTCTL_MAX_ARTIFACTS"):
        in_force(project, FILES, ARTIFACTCTL_MAX_ARTIFACTS="101")


@pytest.mark.parametrize(("word", "message"), [("nowhere.yaml", "cannot be read"), ("bad.yaml", "UTF-8")])
def test_what_cannot_be_read_is_named(project: Path, word: str, message: str) -> None:
    (project / "deep" / "bad.yaml").write_bytes(b"name: \xff\n")

    with pytest.raises(UsageError, match=f"{word}.*{message}"):
        named_texts([word], working_directory=project / "deep")


def test_laying_a_policy_over_another_twice_changes_nothing_more(project: Path) -> None:
    site, other = in_force(project, FILES), in_force(project, '[policy]\nfiles = ["deep/other.yaml"]\n')
    once = laid_over(site, replace(other, min_age=timedelta(days=2), grace=timedelta(0)))

    assert laid_over(once, replace(other, min_age=timedelta(days=2))) == once
    assert (once.min_age, once.grace) == (timedelta(days=2), site.grace)
