"""What each guard blocks, one case a row: the candidate and what was seen of it, and the verdict that must follow."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, VerifyLevel
from artifactctl.domain.attestation import Client, Regime, Statement
from artifactctl.domain.observation import (
    BlindSpot,
    BlindSpotKind,
    ClientLook,
    Holder,
    HolderKind,
    MarkerState,
    MemberDrift,
    MountSighting,
    Obstacle,
    ObstacleKind,
    Referrer,
)
from artifactctl.domain.verdicts import Verdict, may_remove
from artifactctl.guards import HARD, WAIVABLE, evaluate, standard_guards
from artifactctl.guards.candidate import Dependent, Recipe, RecipeInput, RemovedChild, Successor, Untold
from artifactctl.policy.ruleset import Matcher, Place, Protect, Relation, RequireSuccessor
from tests.builders import (
    FINGERPRINT,
    NOON,
    YESTERDAY,
    a_candidate,
    a_hold,
    a_lease,
    a_place,
    a_replica,
    a_report,
    a_tree,
    a_verified_copy,
    an_observation,
)

C, A, B, U = Verdict.CLEAR, Verdict.ATTESTED, Verdict.BLOCKED, Verdict.UNKNOWN
USED = Holder(kind=HolderKind.DESCRIPTOR, path=b"shard-0", pid=411, command="train")

MOVED_THERE = a_tree(fingerprint="e" * 64, changed_at=YESTERDAY - timedelta(days=1), placed_at=NOON)
"""What lay somewhere else when the catalog last looked, with its times of then."""


def spot(kind: BlindSpotKind) -> BlindSpot:
    return BlindSpot(kind=kind, count=3, detail="3 processes", settled_by="run the same command with sudo")


def child(**changes: Any) -> Dependent:
    values: dict[str, Any] = {
        "name": "draft",
        "kind": ArtifactKind.DRAFT_MODEL,
        "role": LineageRole.TRAINED_ON,
        "living": True,
        "finished": True,
        "verified": True,
        "leased": False,
        "held": False,
    }
    return Dependent(**{**values, **changes})


def from_inputs(*inputs: RecipeInput, complete: bool = True) -> Recipe:
    return Recipe(inputs=inputs, complete=complete, missing_kinds=() if complete else ("merged_corpus",))


CORPUS = RecipeInput(name="corpus", role=LineageRole.EXTRACTED_FROM, living=True, in_same_plan=False)
REMOVED = RemovedChild(name="hidden-older")
NEXT = Successor(name="hidden-new", kind=ArtifactKind.HIDDEN_STATES, living=True, verified=True, in_same_plan=False)
WHAT_SUPERSEDES_IT = RequireSuccessor(relation=Relation(roles=(LineageRole.SUPERSEDES,)), verified=True)
A_DRAFT = RequireSuccessor(relation=Relation(kinds=(ArtifactKind.DRAFT_MODEL,)), verified=True)
OFFERED: dict[str, Any] = {"named_by_operator": False, "offered_by": "superseded"}
RELEASED = Protect(name="released", reason="Shipped to serving", match=Matcher())
ALONE: dict[str, Any] = {"other_copies": ()}
SECOND = timedelta(seconds=1)
LONG_AGO = NOON - timedelta(days=30)
OLD_COPY = a_verified_copy(verified_at=LONG_AGO)
BY_DIGESTS = {"replica": a_replica(verified_level=VerifyLevel.DIGESTS, verified_fingerprint=FINGERPRINT)}
BY_HEADERS = {"replica": a_replica(verified_level=VerifyLevel.HEADERS, verified_fingerprint=FINGERPRINT)}
UNREAD = {"root_untold": Untold(reason="the account nobody may not look", remedy="use sudo"), "lineage_trusted": False}
SUPERSEDED = {"successor": replace(NEXT, since=NOON - timedelta(hours=2))}
TOUCHED = {"tree": a_tree(changed_at=NOON - timedelta(hours=1), written_at=LONG_AGO)}
TO_BE_ARCHIVED = {"named_by_operator": False, "offered_by": "to-tape", "archived_by": "to-tape"}
ARCHIVE = ArchiveCopy(
    archive_id=1,
    artifact_id=1,
    url="s3://bucket/away",
    codec="raw",
    state=ReplicaState.ARCHIVED,
    files=2,
    size_bytes=2000,
    stored_bytes=2000,
    source_fingerprint=FINGERPRINT,
    content_digest="c" * 64,
    manifest="a" * 64,
    fingerprint="b" * 64,
    begun_at=YESTERDAY,
    verified_at=NOON,
)
OTHER_ARCHIVE = replace(ARCHIVE, source_fingerprint="another")

ON_A_NETWORK = spot(BlindSpotKind.NETWORK_FILESYSTEM)
HERE_ONLY = Statement(regime=Regime.SOLE_CLIENTS)
WITH_GPU2 = Statement(regime=Regime.SOLE_CLIENTS, elsewhere=(Client(machine="gpu2"),))
WITHOUT_US = Statement(regime=Regime.SOLE_CLIENTS, covers_this_machine=False, elsewhere=(Client(machine="gpu2"),))
LEASES = Statement(regime=Regime.LEASE)
CLEAR_THERE = ClientLook(machine="gpu2", report=a_report(blind_spots=(ON_A_NETWORK,)))


def on_a_network(*spots: BlindSpot, clients: tuple[ClientLook, ...] = (), **report: Any) -> dict[str, Any]:
    report.setdefault("lease_answers_for_all_openers", False)
    return {"holders": a_report(blind_spots=(ON_A_NETWORK, *spots), **report), "clients": clients}


ATTESTED_CASES: list[tuple[str, str, Statement, dict[str, Any], dict[str, Any], Verdict]] = [
    ("sole client", "this machine, which sees all of itself", HERE_ONLY, {}, on_a_network(), A),
    ("sole client", "this container", HERE_ONLY, {}, on_a_network(spot(BlindSpotKind.PID_NAMESPACE)), A),
    ("sole client", "processes unseen", HERE_ONLY, {}, on_a_network(spot(BlindSpotKind.FOREIGN_PROCESSES)), U),
    ("sole client", "no leases there at all", HERE_ONLY, {}, on_a_network(spot(BlindSpotKind.NO_LEASE)), A),
    ("sole client", "exported", HERE_ONLY, {}, {"holders": a_report(blind_spots=(spot(BlindSpotKind.EXPORTED),))}, A),
    ("sole client", "a local filesystem", HERE_ONLY, {}, {}, C),
    ("sole client", "somebody here", HERE_ONLY, {}, on_a_network(holders=(USED,)), B),
    ("sole clients", "nobody asked the other", WITH_GPU2, {}, on_a_network(), U),
    ("sole clients", "all clear", WITH_GPU2, {}, on_a_network(clients=(CLEAR_THERE,)), A),
    ("sole clients", "on what looks local, and declared", WITH_GPU2, {}, {}, U),
    ("sole clients", "local, declared and asked", WITH_GPU2, {}, {"clients": (CLEAR_THERE,)}, A),
    (
        "sole clients",
        "somebody there",
        WITH_GPU2,
        {},
        on_a_network(clients=(ClientLook(machine="gpu2", report=a_report(holders=(USED,))),)),
        B,
    ),
    (
        "sole clients",
        "not reached",
        WITH_GPU2,
        {},
        on_a_network(clients=(ClientLook(machine="gpu2", problem="no route"),)),
        U,
    ),
    (
        "sole clients",
        "not all seen there",
        WITH_GPU2,
        {},
        on_a_network(
            clients=(
                ClientLook(
                    machine="gpu2",
                    report=a_report(
                        blind_spots=(spot(BlindSpotKind.FOREIGN_PROCESSES),), lease_answers_for_all_openers=False
                    ),
                ),
            )
        ),
        U,
    ),
    (
        "sole clients",
        "another one answered",
        WITH_GPU2,
        {},
        on_a_network(clients=(replace(CLEAR_THERE, machine="b"),)),
        U,
    ),
    ("sole clients", "without this machine", WITHOUT_US, {}, on_a_network(clients=(CLEAR_THERE,)), U),
    ("leases", "none living", LEASES, {}, on_a_network(), A),
    ("leases", "processes unseen", LEASES, {}, on_a_network(spot(BlindSpotKind.HIDDEN_PROCESSES)), U),
    ("leases", "a purge a minute later", LEASES, {"purge_not_before": NOON, "purge_is_early": True}, on_a_network(), B),
    ("leases", "a purge by a clock set ahead", LEASES, {"purge_not_before": NOON + SECOND}, on_a_network(), B),
    ("leases", "a purge a day later", LEASES, {"purge_not_before": NOON}, on_a_network(), A),
    ("leases", "a purge at once", LEASES, {"purge_at_once": True}, on_a_network(), B),
    (
        "leases",
        "a purge by a clock that ran backwards",
        LEASES,
        {"purge_not_before": NOON, "purge_is_early": True, "clock_trusted": False},
        on_a_network(),
        U,
    ),
]

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], Verdict]] = [
    ("confined", "in its place", {}, {}, C),
    ("confined", "marker gone", {}, {"confinement": a_place(marker=MarkerState.MISSING)}, B),
    ("confined", "marker of a cloned root", {}, {"confinement": a_place(marker=MarkerState.CLONED)}, B),
    ("confined", "marker unreadable", {}, {"confinement": a_place(marker=MarkerState.UNREADABLE)}, U),
    ("confined", "another filesystem", {}, {"confinement": a_place(filesystem_uuid="fs-2")}, B),
    ("confined", "filesystem unidentified", {}, {"confinement": a_place(filesystem_uuid="")}, B),
    ("confined", "symlinked component", {}, {"confinement": a_place(symlinked_component=b"/data/a")}, B),
    ("confined", "nothing there", {}, {"identity": None, "tree": None}, B),
    (
        "confined",
        "a mount below",
        {},
        {"confinement": a_place(mounts=(MountSighting(relative=b"x", source="/precious", filesystem_type="xfs"),))},
        B,
    ),
    ("confined", "mount table unread", {}, {"confinement": a_place(mounts_complete=False)}, U),
    ("confined", "a link that leads out", {}, {"tree": a_tree(escaping_links=((b"l", b"/etc"),))}, B),
    ("not_referenced", "no link", {}, {}, C),
    (
        "not_referenced",
        "a link from a sibling",
        {},
        {"referrers": (Referrer(link=b"/data/latest", target=b"/data/hidden-old"),)},
        B,
    ),
    (
        "not_referenced",
        "a link to nothing in its place",
        {},
        {"referrers": (Referrer(link=b"/data/latest", target=b"/data/hidden-old", is_dangling=True),)},
        B,
    ),
    ("not_referenced", "a folder unread", {}, {"referrer_problems": ("/data/private",)}, U),
    ("known_members", "only members", {}, {}, C),
    ("known_members", "a stray file", {}, {"drift": MemberDrift(strays=1, stray_examples=(b"notes.txt",))}, B),
    (
        "known_members",
        "a file of an artifact inside",
        {"nested": (("inner", b"deep"),)},
        {"drift": MemberDrift(strays=1, stray_examples=(b"deep/shard-0",))},
        B,
    ),
    ("known_members", "never compared", {}, {"drift": None}, U),
    ("known_members", "part unread", {}, {"tree": a_tree(problems=("shard-1: EIO",))}, U),
    ("unchanged", "as catalogued", {}, {}, C),
    ("unchanged", "as planned", {"planned_fingerprint": "f" * 64}, {}, C),
    ("unchanged", "another fingerprint", {"planned_fingerprint": "e" * 64}, {}, B),
    ("unchanged", "another folder in its place", {}, {"tree": MOVED_THERE}, B),
    ("unchanged", "moved by our own rename", {"planned_fingerprint": "e" * 64}, {"tree": MOVED_THERE}, C),
    ("unchanged", "set aside long ago", {"is_set_aside": True}, {"tree": MOVED_THERE}, C),
    ("unchanged", "a member missing", {}, {"drift": MemberDrift(missing=1, missing_examples=(b"s",))}, B),
    ("unchanged", "a member grown", {}, {"drift": MemberDrift(resized=1, resized_examples=((b"s", 1, 2),))}, B),
    ("unchanged", "tree unread", {}, {"tree": None}, U),
    ("removable", "nothing in the way", {}, {}, C),
    ("removable", "immutable member", {}, {"obstacles": (Obstacle(kind=ObstacleKind.IMMUTABLE, path=b"s"),)}, B),
    ("removable", "unknown", {}, {"obstacles": (Obstacle(kind=ObstacleKind.ATTRIBUTES_UNKNOWN, path=b"s"),)}, U),
    ("not_held", "nobody", {}, {}, C),
    (
        "not_held",
        "a descriptor",
        {},
        {"holders": a_report(holders=(Holder(kind=HolderKind.DESCRIPTOR, path=b"s"),))},
        B,
    ),
    (
        "not_held",
        "foreign processes, all leases granted",
        {},
        {"holders": a_report(blind_spots=(spot(BlindSpotKind.FOREIGN_PROCESSES),))},
        C,
    ),
    (
        "not_held",
        "foreign processes, one lease missing",
        {},
        {"holders": a_report(blind_spots=(spot(BlindSpotKind.FOREIGN_PROCESSES),), leases_granted=1)},
        U,
    ),
    (
        "not_held",
        "foreign processes, leases that answer for nobody else",
        {},
        {
            "holders": a_report(
                blind_spots=(spot(BlindSpotKind.FOREIGN_PROCESSES),), lease_answers_for_all_openers=False
            )
        },
        U,
    ),
    (
        "not_held",
        "a network filesystem, whatever the leases say",
        {},
        {"holders": a_report(blind_spots=(spot(BlindSpotKind.NETWORK_FILESYSTEM),))},
        U,
    ),
    *[
        ("not_held", f"{regime}: {what}", {"statement": statement, **candidate}, seen, verdict)
        for regime, what, statement, candidate, seen, verdict in ATTESTED_CASES
    ],
    ("not_held", "exported", {}, {"holders": a_report(blind_spots=(spot(BlindSpotKind.EXPORTED),))}, U),
    ("not_held", "a mount table unread", {}, {"holders": a_report(blind_spots=(spot(BlindSpotKind.UNREADABLE),))}, U),
    ("unleased", "free", {}, {}, C),
    ("unleased", "leased", {"leases": (a_lease(),)}, {}, B),
    ("unleased", "locked", {}, {"holders": a_report(holders=(Holder(kind=HolderKind.FLOCK, path=b""),))}, B),
    ("no_hold", "free", {}, {}, C),
    ("no_hold", "held", {"holds": (a_hold(),)}, {}, B),
    ("no_hold", "held until yesterday: a review, not a permission", {"holds": (a_hold(until=NOON - SECOND),)}, {}, B),
    ("no_live_descendant", "childless", {}, {}, C),
    ("no_live_descendant", "a verified child", {"dependents": (child(),)}, {}, C),
    ("no_live_descendant", "an unverified child", {"dependents": (child(verified=False),)}, {}, B),
    ("no_live_descendant", "an unfinished child", {"dependents": (child(finished=False),)}, {}, B),
    ("no_live_descendant", "a leased child", {"dependents": (child(leased=True),)}, {}, B),
    ("no_live_descendant", "a held child", {"dependents": (child(held=True),)}, {}, B),
    ("no_live_descendant", "a child that is gone", {"dependents": (child(living=False, verified=False),)}, {}, C),
    ("no_live_descendant", "a draft that needs its map", {"dependents": (child(role=LineageRole.MAPPED_WITH),)}, {}, B),
    (
        "no_live_descendant",
        "an unverified successor is for other guards",
        {"dependents": (child(role=LineageRole.SUPERSEDES, verified=False),)},
        {},
        C,
    ),
    ("no_live_descendant", "a finished resumption", {"dependents": (child(role=LineageRole.RESUMED_FROM),)}, {}, C),
    (
        "no_live_descendant",
        "a running resumption",
        {"dependents": (child(role=LineageRole.RESUMED_FROM, finished=False),)},
        {},
        B,
    ),
    ("no_live_descendant", "an unconfirmed lineage", {"lineage_trusted": False}, {}, U),
    ("recoverable", "another verified copy", {}, {}, C),
    ("recoverable", "a copy verified before the last write", {"other_copies": (OLD_COPY,)}, {}, B),
    (
        "recoverable",
        "a copy verified before a write that left old mtimes",
        {"other_copies": (a_verified_copy(verified_at=NOON - timedelta(hours=2)),)},
        {"tree": a_tree(changed_at=NOON - timedelta(hours=1), written_at=LONG_AGO)},
        B,
    ),
    ("recoverable", "the same, and this one holds the digests", {**BY_DIGESTS, "other_copies": (OLD_COPY,)}, {}, C),
    ("recoverable", "the same, but only its headers were read", {**BY_HEADERS, "other_copies": (OLD_COPY,)}, {}, B),
    (
        "recoverable",
        "touched since it was superseded, hashed before, and only its headers were read since",
        {**ALONE, **SUPERSEDED, **BY_HEADERS, "hashed_first": NOON - timedelta(hours=3)},
        TOUCHED,
        B,
    ),
    ("recoverable", "an archive of exactly this", {**ALONE, "archives": (ARCHIVE,)}, {}, C),
    ("recoverable", "an archive of something else", {**ALONE, "archives": (OTHER_ARCHIVE,)}, {}, B),
    ("unprotected", "to be archived", {**ALONE, **TO_BE_ARCHIVED}, {}, B),
    ("unprotected", "archived in a store", {**ALONE, **TO_BE_ARCHIVED, "archives": (ARCHIVE,)}, {}, C),
    ("unprotected", "archived as something else", {**ALONE, **TO_BE_ARCHIVED, "archives": (OTHER_ARCHIVE,)}, {}, B),
    ("recoverable", "nothing recorded", ALONE, {}, B),
    ("recoverable", "inputs alive", {**ALONE, "recipe": from_inputs(CORPUS)}, {}, C),
    ("recoverable", "an input gone", {**ALONE, "recipe": from_inputs(CORPUS, replace(CORPUS, living=False))}, {}, B),
    ("recoverable", "an input going too", {**ALONE, "recipe": from_inputs(replace(CORPUS, in_same_plan=True))}, {}, B),
    ("recoverable", "half a recipe", {**ALONE, "recipe": from_inputs(CORPUS, complete=False)}, {}, B),
    ("recoverable", "a verified successor", {**ALONE, "successor": NEXT}, {}, C),
    ("recoverable", "an unverified successor", {**ALONE, "successor": replace(NEXT, verified=False)}, {}, B),
    ("recoverable", "a successor that is gone", {**ALONE, "successor": replace(NEXT, living=False)}, {}, B),
    ("recoverable", "a successor going too", {**ALONE, "successor": replace(NEXT, in_same_plan=True)}, {}, B),
    ("recoverable", "written to since it was superseded", {**ALONE, "successor": replace(NEXT, since=LONG_AGO)}, {}, B),
    ("recoverable", "touched since it was superseded, with old mtimes", {**ALONE, **SUPERSEDED}, TOUCHED, B),
    (
        "recoverable",
        "the same, and it has the digests of before",
        {**ALONE, **SUPERSEDED, **BY_DIGESTS, "hashed_first": NOON - timedelta(hours=3)},
        TOUCHED,
        C,
    ),
    (
        "recoverable",
        "the same, and it was hashed only since",
        {**ALONE, **SUPERSEDED, **BY_DIGESTS, "hashed_first": NOON - timedelta(minutes=30)},
        TOUCHED,
        B,
    ),
    ("recoverable", "written to before it was superseded", {**ALONE, "successor": replace(NEXT, since=NOON)}, {}, C),
    ("recoverable", "the only input of something removed", {"rebuilt_from_this": (REMOVED,)}, {}, B),
    ("recoverable", "and that is replaced", {"rebuilt_from_this": (replace(REMOVED, replaced_by="new"),)}, {}, C),
    ("no_hold", "a root that may not be looked into", UNREAD, {}, U),
    ("no_live_descendant", "a root that may not be looked into", UNREAD, {}, U),
    ("recoverable", "a root that may not be looked into", UNREAD, {}, U),
    ("recoverable", "an unconfirmed lineage", {"lineage_trusted": False}, {}, B),
    ("successor_verified", "not asked for", {}, {}, C),
    ("successor_verified", "asked for, none", {"required_successor": WHAT_SUPERSEDES_IT}, {}, B),
    ("successor_verified", "asked for, verified", {"required_successor": WHAT_SUPERSEDES_IT, "successor": NEXT}, {}, C),
    (
        "successor_verified",
        "asked for, unverified",
        {"required_successor": WHAT_SUPERSEDES_IT, "successor": replace(NEXT, verified=False)},
        {},
        B,
    ),
    (
        "successor_verified",
        "asked for, going too: `recoverable` judges that",
        {"required_successor": WHAT_SUPERSEDES_IT, "successor": replace(NEXT, in_same_plan=True)},
        {},
        C,
    ),
    (
        "successor_verified",
        "a child asked for, going too",
        {"required_successor": A_DRAFT, "dependents": (child(in_same_plan=True),)},
        {},
        B,
    ),
    ("successor_verified", "a child asked for, none", {"required_successor": A_DRAFT}, {}, B),
    ("successor_verified", "a child asked for", {"required_successor": A_DRAFT, "dependents": (child(),)}, {}, C),
    (
        "successor_verified",
        "a child asked for, of another kind",
        {"required_successor": A_DRAFT, "dependents": (child(kind=ArtifactKind.CHECKPOINT),)},
        {},
        B,
    ),
    (
        "successor_verified",
        "a child asked for, what supersedes it does not count",
        {"required_successor": A_DRAFT, "successor": replace(NEXT, kind=ArtifactKind.DRAFT_MODEL)},
        {},
        B,
    ),
    (
        "successor_verified",
        "a child asked for, verified or not",
        {
            "required_successor": replace(A_DRAFT, verified=False),
            "dependents": (child(verified=False, role=LineageRole.RESUMED_FROM),),
        },
        {},
        C,
    ),
    ("settled", "quiet since yesterday", {}, {}, C),
    ("settled", "just too young", {}, {"tree": a_tree(changed_at=NOON - timedelta(minutes=15) + SECOND)}, B),
    ("settled", "exactly old enough", {}, {"tree": a_tree(changed_at=NOON - timedelta(minutes=15))}, C),
    ("settled", "read a minute ago", {}, {"tree": a_tree(read_at=NOON - timedelta(minutes=1))}, B),
    ("settled", "access times not kept", {}, {"tree": a_tree(read_at=None)}, C),
    ("settled", "changed in the future", {}, {"tree": a_tree(changed_at=NOON + timedelta(hours=1))}, B),
    ("settled", "read in the future", {}, {"tree": a_tree(read_at=NOON + timedelta(hours=1))}, B),
    ("settled", "a clock that ran backwards", {"clock_trusted": False}, {}, U),
    ("in_policy", "named", {}, {}, C),
    ("in_policy", "offered", OFFERED, {}, C),
    ("in_policy", "neither", {"named_by_operator": False}, {}, B),
    ("in_policy", "offered, a copy too few left", {**OFFERED, "other_copies": (), "required_copies": 1}, {}, B),
    ("in_policy", "offered, copies enough left", {**OFFERED, "required_copies": 1}, {}, C),
    ("unprotected", "covered by no protect", {}, {}, C),
    ("unprotected", "covered by a protect, and named", {"protect": RELEASED}, {}, B),
    ("unprotected", "covered by a protect, and offered", {**OFFERED, "protect": RELEASED}, {}, B),
]


@pytest.mark.parametrize(
    ("guard", "candidate", "observation", "verdict"),
    [pytest.param(g, c, o, v, id=f"{g}: {case}") for g, case, c, o, v in CASES],
)
def test_a_guard_gives_its_verdict(
    guard: str, candidate: dict[str, Any], observation: dict[str, Any], verdict: Verdict
) -> None:
    evidence = evaluate(standard_guards(), a_candidate(**candidate), an_observation(**observation))

    answer = next(item for item in evidence if item.guard == guard)
    assert answer.verdict is verdict
    assert answer.reason
    assert may_remove(evidence) is all(item.verdict in (C, A) for item in evidence)


def test_every_guard_is_either_hard_or_waivable_and_has_a_case_that_blocks() -> None:
    names = {guard.name for guard in standard_guards()}

    assert names | {"within_caps"} == set(HARD) | set(WAIVABLE)
    assert not set(HARD) & set(WAIVABLE)
    assert names == {case[0] for case in CASES if case[-1] is not C}


@pytest.mark.parametrize(
    ("age", "written"), [(timedelta(seconds=119), "119 s"), (timedelta(minutes=6, seconds=8), "6 min")]
)
def test_an_artifact_that_was_changed_itself_is_said_to_be_so_with_its_age(age: timedelta, written: str) -> None:
    young = a_tree(changed_at=NOON - age, changed_path=b"")

    evidence = evaluate(standard_guards(), a_candidate(), an_observation(tree=young))

    answer = next(item for item in evidence if item.guard == "settled")
    assert answer.reason == f"it was changed {written} ago, within the quiet time of 15 min"


def test_a_foreign_holder_is_named_with_its_process() -> None:
    holder = Holder(kind=HolderKind.MAPPING, path=b"shard-\xff\n", pid=411, command="python")

    evidence = evaluate(standard_guards(), a_candidate(), an_observation(holders=a_report(holders=(holder,))))

    answer = next(item for item in evidence if item.guard == "not_held")
    assert answer.reason == "process 411 (python) has shard-\\xff\\n mapped into memory"
    assert answer.facts == (("mapping", "411:shard-\\xff\\n"),)


def test_a_replica_of_another_root_counts_as_a_copy_only_when_listed() -> None:
    evidence = evaluate(standard_guards(), a_candidate(other_copies=(a_verified_copy(replica_id=9),)), an_observation())

    assert may_remove(evidence)


def test_a_protect_is_named_with_its_reason_and_where_it_stands() -> None:
    place = Place(file="policies/eagle3.yaml", line=12, column=5)

    evidence = evaluate(standard_guards(), a_candidate(protect=replace(RELEASED, place=place)), an_observation())

    answer = next(item for item in evidence if item.guard == "unprotected")
    assert answer.reason == "the policy protects it, by `released`: Shipped to serving"
    assert answer.facts == (("protect", "released"),)
    assert "policies/eagle3.yaml:12:5" in answer.remedy


def test_what_the_policy_keeps_is_refused_with_the_policy_s_own_sentence() -> None:
    kept = a_candidate(named_by_operator=False, kept_because="keep: metric eval/x missing")

    evidence = evaluate(standard_guards(), kept, an_observation())

    assert next(item for item in evidence if item.guard == "in_policy").reason == "keep: metric eval/x missing"


def test_a_hold_past_its_date_still_blocks_and_says_that_a_review_is_due() -> None:
    holds = (a_hold(), a_hold(hold_id=8, until=NOON - timedelta(days=3)))

    evidence = evaluate(standard_guards(), a_candidate(holds=holds), an_observation())

    answer = next(item for item in evidence if item.guard == "no_hold")
    assert answer.verdict is B
    assert answer.reason.endswith("for the paper (a review is due since 2026-11-27; it holds until released)")
