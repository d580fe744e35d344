"""Members as sequences: digest and comparison."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.identity import member_order
from artifactctl.domain.members import Member, compare_members, member_digest

names = st.lists(st.binary(min_size=1, max_size=2).filter(lambda name: b"/" not in name), min_size=1, max_size=3)
members = st.dictionaries(names.map(b"/".join), st.tuples(st.sampled_from("flo"), st.integers(0, 9)), max_size=8).map(
    lambda found: sorted(((path, *rest) for path, rest in found.items()), key=lambda item: member_order(item[0]))
)


def test_the_digest_is_over_path_type_and_size() -> None:
    expected = hashlib.sha256(b"a/b\0f\x0010\nlink\0l\x003\n").hexdigest()

    assert member_digest([(b"a/b", "f", 10), (b"link", "l", 3)]) == expected


@given(found=members)
def test_a_sequence_does_not_differ_from_itself(found: list[Member]) -> None:
    assert compare_members(found, found).is_none


@given(before=members, after=members)
def test_counts_are_those_of_sets(before: list[Member], after: list[Member]) -> None:
    left, right = {item[0]: item for item in before}, {item[0]: item for item in after}
    retyped = {path for path in left.keys() & right.keys() if left[path][1] != right[path][1]}
    resized = {path for path in left.keys() & right.keys() - retyped if left[path][2] != right[path][2]}

    drift = compare_members(before, after)

    assert drift.strays == len(right.keys() - left.keys()) + len(retyped)
    assert drift.missing == len(left.keys() - right.keys()) + len(retyped)
    assert drift.resized == len(resized)


@given(before=members, after=members)
def test_equal_digests_mean_equal_members(before: list[Member], after: list[Member]) -> None:
    assert (member_digest(before) == member_digest(after)) == (before == after)


def test_examples_are_the_first_few_and_counts_stay_exact() -> None:
    many = [(b"%04d" % number, "f", 1) for number in range(500)]

    drift = compare_members([], many)

    assert drift.strays == 500
    assert drift.stray_examples == tuple(b"%04d" % number for number in range(10))


def test_a_resized_member_is_named_with_both_sizes() -> None:
    drift = compare_members([(b"a", "f", 1)], [(b"a", "f", 2)])

    assert drift.resized_examples == ((b"a", 1, 2),)


@pytest.mark.parametrize("paths", [[b"b", b"a"], [b"a", b"a"], [b"a.txt", b"a/b"]])
def test_a_sequence_out_of_order_is_an_error(paths: list[bytes]) -> None:
    with pytest.raises(ValueError, match="member order"):
        compare_members([(path, "f", 1) for path in paths], [])
