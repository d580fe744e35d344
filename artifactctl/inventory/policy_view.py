"""The catalog as policies see it: every fact of every artifact that a policy may have something to say about."""

import gc
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from artifactctl.catalog import Reading
from artifactctl.policy.facts import CatalogueView
from artifactctl.policy.ruleset import Policy
from artifactctl.policy.scope import Needed, Wanted, needed_by, scope_of


def catalogue_view(reading: Reading, *, now: datetime, policy: Policy, also: Collection[int] = ()) -> CatalogueView:
    """Return the artifacts that a rule or protect of the policy may match, and those numbered in `also`."""
    return view_for(reading, (policy,), now=now, until=now, also=also)


def view_for_rules(reading: Reading, *, now: datetime, policy: Policy, also: Collection[int] = ()) -> CatalogueView:
    """Return the artifacts that a rule may match, with what protects ask for too, and those numbered in `also`.

    A protect of everything need not bring everything here: it is asked about what rules offer.
    """
    scope = scope_of((replace(policy, protects=()),), now=now, until=now)
    return _view(reading, scope, needed_by((policy,), now=now, until=now), now=now, also=also)


def view_for(
    reading: Reading, policies: Iterable[Policy], *, now: datetime, until: datetime, also: Collection[int] = ()
) -> CatalogueView:
    """Return the artifacts that any of the policies may match at any instant from `now` to `until`."""
    compared = tuple(policies)
    scope = scope_of(compared, now=now, until=until)
    return _view(reading, scope, needed_by(compared, now=now, until=until), now=now, also=also)


def _view(
    reading: Reading, scope: Sequence[Wanted], needed: Needed, *, now: datetime, also: Collection[int]
) -> CatalogueView:
    with without_garbage_collection():
        artifacts = reading.policy_facts(scope, also=also, now=now, needed=needed)
    return CatalogueView(artifacts=artifacts, taken_at=now, living=reading.live_by_kind())


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Millions of values come into being and none refers back: looking for cycles would take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
