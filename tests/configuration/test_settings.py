"""Configuration files, limits that only tighten, and where the catalog is."""

from datetime import timedelta

import pytest

from artifactctl.configuration.limits import LimitLoosened, SafetyLimits
from artifactctl.configuration.limits_in_force import safety_limits
from artifactctl.configuration.location import locate_catalog
from artifactctl.configuration.settings import SettingsProblem, parse_settings, read_settings
from artifactctl.domain.errors import UsageError


def settings_from(tmp_path, *, project="", user=""):
    (tmp_path / "config" / "artifactctl").mkdir(parents=True)
    (tmp_path / "config" / "artifactctl" / "artifactctl.toml").write_text(user)
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "project" / "artifactctl.toml").write_text(project)
    return read_settings(working_directory=deep, environment={"XDG_CONFIG_HOME": str(tmp_path / "config")})


def test_the_project_beats_the_user_key_by_key(tmp_path):
    settings = settings_from(
        tmp_path,
        project='[catalog]\nlocation = "/project.db"\n',
        user='[catalog]\nlocation = "/user.db"\n[defaults]\nvolume = "scratch"\n',
    )

    assert settings.text("catalog.location") == "/project.db"
    assert settings.text("defaults.volume") == "scratch"
    assert settings.text("defaults.model") is None


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (
            "[policy]\ngrace = '7d'\n\nquiet_tme = '15m'\n",
            "x.toml:4: unknown key `quiet_tme` in [policy]",
            "quiet_time",
        ),
        ("[polcy]\n", "x.toml:1: unknown table `polcy`", "policy"),
        ("[hosts]\n", "x.toml:1: unknown table `hosts`", "known here: catalog, defaults, policy, notify"),
        ("grace = '7d'\n", "x.toml:1: unknown key `grace`", "known here"),
        ("[notify]\nurl = 'x'\n", "x.toml:2: unknown key `url` in [notify]", "none in this version"),
        ("[catalog\n", "x.toml: not TOML", "correct the file"),
    ],
    ids=["misspelled key", "misspelled table", "unknown table", "key outside a table", "notify", "syntax"],
)
def test_what_is_not_known_is_refused_with_place_and_suggestion(text, message, remedy):
    with pytest.raises(SettingsProblem) as refused:
        parse_settings(text, source="x.toml")

    assert refused.value.message.startswith(message)
    assert remedy in refused.value.remedy


def test_a_flag_and_a_variable_can_tighten_a_limit(tmp_path):
    settings = settings_from(tmp_path, project="[policy]\ngrace = '3d'\nmax_artifacts = 100\n")

    limits = safety_limits(settings, {"ARTIFACTCTL_GRACE": "5d"}).tightened("max_bytes", "1TiB", source="--max-bytes")

    assert limits == SafetyLimits(grace=timedelta(days=5), max_artifacts=100, max_bytes=2**40)


@pytest.mark.parametrize(
    ("name", "text"),
    [("grace", "2d"), ("quiet_time", "1m"), ("max_bytes", "21TiB"), ("max_artifacts", "501")],
)
def test_no_flag_loosens_a_limit(name, text):
    with pytest.raises(LimitLoosened) as refused:
        SafetyLimits().tightened(name, text, source="--some-flag")

    assert "--some-flag" in refused.value.message
    assert "[policy]" in refused.value.remedy


def test_a_limit_without_a_unit_is_refused_with_its_place(tmp_path):
    settings = settings_from(tmp_path, project="[policy]\ngrace = 7\n")

    with pytest.raises(UsageError, match=r"artifactctl\.toml:2: grace: "):
        safety_limits(settings, {})


def test_the_catalog_is_named_by_flag_then_variable_then_file_then_default(tmp_path):
    settings = settings_from(tmp_path, project='[catalog]\nlocation = "/project.db"\n')
    nothing_set = read_settings(working_directory=tmp_path / "config", environment={})
    environment = {"ARTIFACTCTL_CATALOG": "/variable.db", "HOME": "/home/a"}

    assert locate_catalog("/flag.db", environment, settings).location == "/flag.db"
    assert locate_catalog(None, environment, settings).location == "/variable.db"
    assert locate_catalog(None, {"HOME": "/home/a"}, settings).location == "/project.db"
    assert (
        locate_catalog(None, {"HOME": "/home/a"}, nothing_set).location == "/home/a/.local/state/artifactctl/catalog.db"
    )
    assert locate_catalog(None, {"XDG_STATE_HOME": "/state"}, nothing_set).location == "/state/artifactctl/catalog.db"


def test_an_empty_catalog_name_is_an_error_not_the_default(tmp_path):
    with pytest.raises(UsageError, match="ARTIFACTCTL_CATALOG names no catalog"):
        locate_catalog(
            None,
            {"ARTIFACTCTL_CATALOG": "", "HOME": "/home/a"},
            read_settings(working_directory=tmp_path, environment={}),
        )
