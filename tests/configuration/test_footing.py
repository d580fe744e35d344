"""What lies below policy files at hand: other configured files, limits, variables, and never the files themselves."""

import subprocess
from pathlib import Path

import pytest

from artifactctl.configuration.footing import Footing, footing_of
from artifactctl.configuration.policy_in_force import named_texts, policy_in_force
from artifactctl.configuration.settings import read_settings
from artifactctl.policy.reading import load_policy
from artifactctl.policy.ruleset import Policy

HEAD = "schema: artifactctl/policy/v1\nname: {name}\nlimits: {{max_bytes: {size}, max_artifacts: 100}}\n"
PROTECT = "protect:\n  - {{name: {name}, reason: Somebody needs it, match: {{name: '{name}-*'}}}}\n"
FILES = '[policy]\nfiles = ["policies"]\n'


def write(file: Path, *, size: str = "1TiB") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((HEAD + PROTECT).format(name=file.stem, size=size))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two configured policy files, and one elsewhere."""
    write(tmp_path / "policies" / "site.yaml")
    write(tmp_path / "policies" / "team.yaml", size="3TiB")
    write(tmp_path / "elsewhere" / "mine.yaml", size="2TiB")
    return tmp_path


def footing(
    project: Path, *words: str, toml: str = FILES, with_shipped_default: bool = True, **environment: str
) -> Footing:
    (project / "artifactctl.toml").write_text(toml)
    settings = read_settings(working_directory=project, environment={})
    return footing_of(
        words, settings, environment, working_directory=project, with_shipped_default=with_shipped_default
    )


def meaning(project: Path, name: str) -> Policy:
    return load_policy([(name, (project / name).read_bytes())])


def standing(project: Path, name: str, *words: str, toml: str = FILES, **environment: str) -> Policy:
    return footing(project, *(words or (name,)), toml=toml, **environment).under(meaning(project, name))


def protects(policy: Policy) -> list[str]:
    return [protect.name for protect in policy.protects]


def test_a_file_of_ones_own_stands_as_in_a_run_with_it(project: Path) -> None:
    toml = FILES + 'max_bytes = "512GiB"\n'

    found = standing(project, "elsewhere/mine.yaml", toml=toml, ARTIFACTCTL_GRACE="30d")

    settings = read_settings(working_directory=project, environment={})
    named = named_texts(["elsewhere/mine.yaml"], working_directory=project)
    run = policy_in_force(settings, {"ARTIFACTCTL_GRACE": "30d"}, working_directory=project, named=named)
    assert found.digest == run.digest
    assert (protects(found), found.limits.max_bytes) == (["site", "team", "mine"], 512 << 30)


def test_a_configured_file_at_hand_is_not_below_itself_and_the_others_are(project: Path) -> None:
    assert protects(standing(project, "policies/site.yaml")) == ["team", "site"]
    assert footing(project, "policies/").layers == ()
    assert footing(project, str(project / "policies" / ".." / "policies")).layers == ()
    assert protects(standing(project, "elsewhere/mine.yaml", "policies/team.yaml", "elsewhere/mine.yaml")) == [
        "site",
        "mine",
    ]


def test_another_revision_of_a_configured_file_stands_in_for_it(project: Path) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *who, *words], cwd=project, check=True)
    (project / "policies" / "team.yaml").unlink()

    for word in ("git:HEAD:policies/", "git:main:policies", "git:HEAD:./policies"):
        assert footing(project, word).layers == (), word
    assert [protects(layer) for layer in footing(project, "git:HEAD:policies/team.yaml").layers] == [["site"]]
    assert [protects(layer) for layer in footing(project, "git:HEAD:elsewhere/").layers] == [["site"]]


def test_limits_and_variables_tighten_files_at_hand_with_nothing_below(project: Path) -> None:
    found = standing(project, "policies/site.yaml", "policies", toml=FILES + "max_artifacts = 7\n")
    by_variable = standing(project, "policies/site.yaml", "policies", ARTIFACTCTL_MAX_ARTIFACTS="3")

    assert (protects(found), found.limits.max_artifacts) == (["site"], 7)
    assert by_variable.limits.max_artifacts == 3


def test_files_of_the_environment_lie_between(project: Path) -> None:
    write(project / "mid.yaml", size="1GiB")

    found = standing(project, "elsewhere/mine.yaml", ARTIFACTCTL_POLICY_FILES="mid.yaml")

    assert (protects(found), found.limits.max_bytes) == (["site", "team", "mid", "mine"], 1 << 30)
    assert protects(standing(project, "mid.yaml", ARTIFACTCTL_POLICY_FILES="mid.yaml")) == ["site", "team", "mid"]


def test_with_nothing_configured_the_shipped_default_is_counted_only_where_it_would_be(project: Path) -> None:
    write(project / "wide.yaml", size="90TiB")
    wide = meaning(project, "wide.yaml")

    assert footing(project, "wide.yaml", toml="").under(wide).limits.max_bytes == 20 << 40
    assert footing(project, "wide.yaml", toml="", with_shipped_default=False).under(wide) == wide
