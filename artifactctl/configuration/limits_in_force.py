"""The safety limits that hold: what the configuration files state, made stricter by the environment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from artifactctl.configuration.limits import LIMIT_PARSERS, SafetyLimits, read_limit
from artifactctl.configuration.settings import Settings


def safety_limits(settings: Settings, environment: Mapping[str, str]) -> SafetyLimits:
    """Return the limits of the configuration files, tightened by ARTIFACTCTL_* variables; no policy file is asked."""
    return tightened_by(environment, replace(SafetyLimits(), **stated_limits(settings)))


def stated_limits(settings: Settings) -> dict[str, Any]:
    """Return the limits that the configuration files set themselves, by name."""
    found = {}
    for name in LIMIT_PARSERS:
        setting = settings.values.get(f"policy.{name}")
        if setting is not None:
            found[name] = read_limit(name, str(setting.value), place=setting.place)
    return found


def tightened_by(environment: Mapping[str, str], limits: SafetyLimits) -> SafetyLimits:
    """Return the limits made stricter by ARTIFACTCTL_* variables; LimitLoosened for one that asks for less safety."""
    for name in LIMIT_PARSERS:
        variable = f"ARTIFACTCTL_{name.upper()}"
        if environment.get(variable):
            limits = limits.tightened(name, environment[variable], source=variable)
    return limits
