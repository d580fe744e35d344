"""The right to change a root: its fence only grows, and who lost it changes nothing any more."""

from contextlib import closing
from datetime import timedelta

import pytest

from artifactctl.catalog import RootTakenOver, open_catalog
from artifactctl.catalog.root_leases import LIFETIME
from artifactctl.domain.errors import Busy


def take(catalog, now, *, machine="m-1", actor="ada@node-1", above=0):
    with catalog.writing(actor, now) as writing:
        return writing.take_root("root-1", machine_id=machine, above=above)


def test_the_fence_grows_with_every_taking_above_what_the_root_has_seen_and_over_a_restore(catalog, noon):
    first = take(catalog, noon)
    second = take(catalog, noon)
    third = take(catalog, noon, above=70)
    with catalog.writing("ada", noon) as writing:
        writing.raise_epoch(2)
    fourth = take(catalog, noon)

    assert (first.fence, second.fence, third.fence) == (1, 2, 71)
    assert fourth.fence > 1 << 39
    assert fourth.root_name == "data"


def test_on_another_machine_it_is_busy_until_it_is_given_back_or_runs_out(catalog, noon):
    first = take(catalog, noon)

    with pytest.raises(Busy) as refusal:
        take(catalog, noon + LIFETIME - timedelta(seconds=1), machine="m-2", actor="bob@node-2")
    late = take(catalog, noon + LIFETIME, machine="m-2", actor="bob@node-2")
    with catalog.writing("bob", noon + LIFETIME) as writing:
        writing.give_root_back("root-1", late.fence)
    again = take(catalog, noon + LIFETIME, machine="m-3")

    assert "ada@node-1" in refusal.value.message
    assert (first.fence, late.fence, again.fence) == (1, 2, 3)


def test_on_the_same_machine_who_got_the_lock_takes_over_at_once(catalog, noon):
    first = take(catalog, noon)

    assert take(catalog, noon).fence == first.fence + 1


def test_each_transaction_prolongs_the_lease_it_acts_under(catalog, noon):
    lease = take(catalog, noon)
    later = noon + timedelta(minutes=10)

    with catalog.acting_under("root-1", lease.fence), catalog.writing("ada", later):
        pass
    with catalog.reading() as reading:
        prolonged = reading.root_lease("root-1")

    assert prolonged.expires_at == later + LIFETIME


def test_who_was_overtaken_changes_nothing_any_more(catalog, catalog_address, noon):
    lease = take(catalog, noon)

    with catalog.acting_under("root-1", lease.fence):
        with closing(open_catalog(catalog_address, now=noon)) as other:
            take(other, noon, actor="bob@node-1")
        with (
            pytest.raises(RootTakenOver, match=r"bob@node-1 took over .* `data`"),
            catalog.writing("ada", noon) as writing,
        ):
            writing.add_host("late", machine_id="m")
    with catalog.reading() as reading:
        hosts = [host.name for host in reading.hosts()]

    assert hosts == ["here"]


def test_giving_back_what_somebody_else_has_by_now_takes_nothing_from_them(catalog, noon):
    first = take(catalog, noon)
    second = take(catalog, noon, actor="bob@node-1")

    with catalog.acting_under("root-1", first.fence):
        catalog.give_root_back("root-1", first.fence, actor="ada", now=noon)
    with catalog.reading() as reading:
        lease = reading.root_lease("root-1")

    assert (lease.fence, lease.released_at) == (second.fence, None)
