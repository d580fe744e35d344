"""Which policy holds: what the configuration names, under what the environment and the command line name for one run.

1. `[policy] files` in artifactctl.toml (relative to that file), else the shipped default.
2. Limits that artifactctl.toml sets itself: over the shipped default they replace its limits; beside policy files the
   stricter one holds, so that a person's own file does not loosen what was reviewed.
3. ARTIFACTCTL_POLICY_FILES (names separated by commas), then `--policy`, or what a plan was made with: the rules are
   theirs; protects are a union, of limits and waiting times the stricter holds.
4. ARTIFACTCTL_MAX_BYTES and the like: only stricter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from artifactctl.configuration.limits import SafetyLimits
from artifactctl.configuration.limits_in_force import stated_limits, tightened_by
from artifactctl.configuration.policy_files import (
    FILES_KEY,
    folders_among,
    is_folder,
    meaning_of,
    policy_texts,
    texts_in_force,
)
from artifactctl.configuration.settings import Settings
from artifactctl.domain.errors import UsageError
from artifactctl.policy.layering import laid_over
from artifactctl.policy.ruleset import Policy

VARIABLE = "ARTIFACTCTL_POLICY_FILES"

PolicyTexts = tuple[tuple[str, str], ...]
"""Name and text of policy files, as a plan keeps them; of a folder that was named, which files it held."""


def named_texts(words: Sequence[str], *, working_directory: Path) -> PolicyTexts:
    """Return the files that `words` name (a file, a folder, `git:REV:PATH`) as text; UsageError for what is none."""
    found = list(folders_among(words, working_directory=working_directory))
    for name, content in policy_texts(words, working_directory=working_directory):
        try:
            found.append((name, content.decode("utf-8")))
        except UnicodeDecodeError as error:
            raise UsageError(f"{name} is not UTF-8 text", remedy="`artifactctl policy lint` says where") from error
    return tuple(found)


def texts_of_environment(environment: Mapping[str, str], *, working_directory: Path) -> PolicyTexts:
    """Return the files that ARTIFACTCTL_POLICY_FILES names; () where it is not set."""
    words = [word.strip() for word in environment.get(VARIABLE, "").split(",") if word.strip()]
    return named_texts(words, working_directory=working_directory) if words else ()


def policy_in_force(
    settings: Settings, environment: Mapping[str, str], *, working_directory: Path, named: PolicyTexts = ()
) -> Policy:
    """Return the policy that holds; `named` are the files named for this run, or those that a plan was made with."""
    policy = configured_policy(settings, working_directory=working_directory)
    for texts in (texts_of_environment(environment, working_directory=working_directory), named):
        if texts:
            policy = laid_over(policy, meaning_of([file for file in texts if not is_folder(file[0])]))
    return tightened_by_variables(policy, environment)


def configured_policy(settings: Settings, *, working_directory: Path) -> Policy:
    """Return what the configuration files say, without anything that is named for one run."""
    texts, limits = texts_in_force(settings, working_directory=working_directory), stated_limits(settings)
    policy = meaning_of(texts)
    if settings.texts(FILES_KEY):
        return policy.tightened(**limits)
    caps = {name: limits.pop(name) for name in ("max_bytes", "max_artifacts") if name in limits}
    return replace(policy, limits=replace(policy.limits, **caps), **limits)


def tightened_by_variables(policy: Policy, environment: Mapping[str, str]) -> Policy:
    """Return the policy made stricter by ARTIFACTCTL_MAX_BYTES and the like."""
    present = SafetyLimits(
        quiet_time=policy.quiet_time,
        grace=policy.grace,
        max_bytes=policy.limits.max_bytes,
        max_artifacts=policy.limits.max_artifacts,
    )
    limits = tightened_by(environment, present)
    return policy.tightened(
        max_bytes=limits.max_bytes,
        max_artifacts=limits.max_artifacts,
        quiet_time=limits.quiet_time,
        grace=limits.grace,
    )
