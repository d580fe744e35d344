"""What the configuration adds to policy files at hand: the protects and limits that `reclaim --policy` lays them over.

Configured files that are at hand themselves, by path or in another revision, are not added: one that takes a protect
out of a configured file would otherwise still be covered by it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifactctl.configuration.limits_in_force import stated_limits
from artifactctl.configuration.policy_files import FILES_KEY, PolicyText, meaning_of, texts_in_force
from artifactctl.configuration.policy_in_force import (
    configured_policy,
    texts_of_environment,
    tightened_by_variables,
)
from artifactctl.configuration.revisions import GIT_PREFIX, place_in_work_tree
from artifactctl.configuration.settings import Settings
from artifactctl.policy.layering import laid_over
from artifactctl.policy.ruleset import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Footing:
    """`layers` lie below the files at hand, the lowest first; `stated` limits and variables only tighten."""

    layers: tuple[Policy, ...]
    stated: Mapping[str, Any]
    environment: Mapping[str, str]

    def under(self, written: Policy) -> Policy:
        """Return what holds when the configuration lies below what was written."""
        lowest, *upper = (*self.layers, written)
        policy = lowest.tightened(**self.stated)
        for layer in upper:
            policy = laid_over(policy, layer)
        return tightened_by_variables(policy, self.environment)


def footing_of(
    words: Sequence[str],
    settings: Settings,
    environment: Mapping[str, str],
    *,
    working_directory: Path,
    with_shipped_default: bool,
) -> Footing:
    """Return what lies below the policy files that `words` name.

    `with_shipped_default`: where nothing is configured, the limits of the shipped default are counted, as in a run.
    """
    at_hand = [place for word in words for place in _places(word, working_directory)]

    def others(texts: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return [text for text in texts if not _is_at_hand(text, at_hand, working_directory)]

    layers: list[Policy] = []
    stated: Mapping[str, Any] = stated_limits(settings)
    if settings.texts(FILES_KEY):
        configured = others(texts_in_force(settings, working_directory=working_directory))
        layers += [meaning_of(configured)] if configured else []
    elif with_shipped_default:
        layers.append(configured_policy(settings, working_directory=working_directory))
        stated = {}  # they have replaced the limits of the default
    of_environment = others(texts_of_environment(environment, working_directory=working_directory))
    layers += [meaning_of(of_environment)] if of_environment else []
    return Footing(layers=tuple(layers), stated=stated, environment=environment)


def _places(word: str, working_directory: Path) -> list[Path]:
    """Return where in the file system lies what a word names; [] for a revision where there is no working tree."""
    if word.startswith(GIT_PREFIX):
        place = place_in_work_tree(word, working_directory=working_directory)
        return [] if place is None else [_real(place)]
    return [_real(working_directory / word)]


def _is_at_hand(text: PolicyText, at_hand: Sequence[Path], working_directory: Path) -> bool:
    places = _places(text[0], working_directory)
    return any(place == other or other in place.parents for place in places for other in at_hand)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
