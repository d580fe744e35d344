"""Quarantine, restore, purge: what happens to one artifact, and what every guard does on the way."""

from dataclasses import replace
from datetime import timedelta

import pytest

from artifactctl import audit
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, VerifyLevel
from artifactctl.domain.errors import ExitCode, HostFailure, Refused
from artifactctl.domain.observation import HolderKind
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.results import OperationResult
from artifactctl.reclaim.applicability import StalePlan
from tests.bench.databases import ON_BOTH
from tests.reclaim.ground import DAY, ROOT_PATH, Ground

pytestmark = ON_BOTH

OLD = ROOT_PATH + b"/hidden-old"


def outcomes(result: OperationResult) -> list[StepOutcome]:
    return [step.outcome for step in result.steps]


def blocked_by(result: OperationResult) -> set[str]:
    return {e.guard for step in result.steps for e in step.evidence if not e.permits_removal}


def test_an_artifact_goes_to_quarantine_and_comes_back_as_it_was(ground: Ground) -> None:
    before = ground.tree("hidden-old")

    aside = ground.quarantine("hidden-old")
    gone = ground.exists("hidden-old")
    back = ground.restore()

    assert outcomes(aside) == [StepOutcome.QUARANTINED]
    assert not gone
    assert outcomes(back) == [StepOutcome.RESTORED]
    assert ground.tree("hidden-old") == before
    assert ground.state("hidden-old") is ReplicaState.LIVE


def test_a_quarantine_frees_nothing_and_a_purge_frees_what_was_predicted(ground: Ground) -> None:
    free = ground.machine.usage(ROOT_PATH).available_bytes
    plan = ground.plan("hidden-old")
    ground.apply(plan)
    # The operation's own notes and manifest take a little room.
    assert 0 <= free - ground.machine.usage(ROOT_PATH).available_bytes < 100_000

    result = ground.purge()

    assert outcomes(result) == [StepOutcome.PURGED]
    assert result.steps[0].expected_freed_bytes == plan.expected_freed_bytes > 0
    assert not result.unexplained
    assert ground.state("hidden-old") is ReplicaState.GONE


def test_the_digest_is_the_same_until_something_happened(ground: Ground) -> None:
    first, second = ground.plan("hidden-old"), ground.plan("hidden-old")
    ground.apply(second)
    ground.restore()

    assert first.digest == second.digest
    assert ground.plan("hidden-old").digest != first.digest


def test_a_plan_is_applied_once(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.apply(plan)

    with pytest.raises(StalePlan, match="was applied already"):
        ground.apply(plan)


def test_a_plan_made_before_a_restore_is_refused(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.quarantine("hidden-old")
    ground.restore()

    with pytest.raises(StalePlan, match="applied already"):
        ground.apply(plan)
    result = ground.apply(plan, resume=True)
    assert not result.steps


def test_an_expired_plan_is_refused(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.machine.clock.advance(DAY)

    with pytest.raises(StalePlan, match="expired"):
        ground.apply(plan)


def test_a_shard_that_changed_after_the_plan_refuses_the_step(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.machine.do.append(OLD + b"/shard-1", b"more")

    result = ground.apply(plan)

    assert outcomes(result) == [StepOutcome.REFUSED]
    assert "unchanged" in blocked_by(result)
    assert ground.exists("hidden-old")


def test_a_reader_that_comes_between_look_and_rename_makes_us_put_it_back(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.machine.points.after_call(
        "set_aside",
        lambda: ground.machine.processes.hold(
            b"/data/.artifactctl/quarantine/op1-1/content/shard-0", HolderKind.DESCRIPTOR, command="train.py"
        ),
    )

    result = ground.apply(plan)

    assert outcomes(result) == [StepOutcome.BUSY_RESTORED]
    assert blocked_by(result) == {"not_held"}
    assert ground.exists("hidden-old")
    assert ground.state("hidden-old") is ReplicaState.LIVE


def test_a_shard_written_between_the_looks_makes_us_put_it_back(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.machine.points.after_call(
        "set_aside",
        lambda: ground.machine.do.append(b"/data/.artifactctl/quarantine/op1-1/content/shard-0", b"late"),
    )

    result = ground.apply(plan)

    assert outcomes(result) == [StepOutcome.BUSY_RESTORED]
    assert "unchanged" in blocked_by(result)


def test_a_path_created_again_while_in_use_keeps_both(ground: Ground) -> None:
    plan = ground.plan("hidden-old")

    def late() -> None:
        ground.machine.do.append(b"/data/.artifactctl/quarantine/op1-1/content/shard-0", b"late")
        ground.machine.do.mkdir(OLD)

    ground.machine.points.after_call("set_aside", late)

    result = ground.apply(plan)
    ground.machine.clock.advance(DAY * 30)
    purged = ground.purge()
    ground.restore(to=b"hidden-rescued")

    assert outcomes(result) == [StepOutcome.BUSY_KEPT]
    assert outcomes(purged) == [StepOutcome.REFUSED]
    assert ground.exists("hidden-rescued")
    assert ground.replica("hidden-old").relative == b"hidden-rescued"


def test_a_lease_taken_between_the_look_and_the_mark_refuses_the_step(ground: Ground) -> None:
    plan = ground.plan("hidden-old")

    def lease() -> None:
        with ground.catalog.writing("bob@node-1", ground.now()) as writing:
            artifact_id = ground.known("hidden-old").artifact_id
            writing.grant_lease(artifact_id, owner="o", host="node-1", expires_at=ground.now() + DAY)

    ground.machine.points.after_call("intend", lease)

    result = ground.apply(plan)

    assert blocked_by(result) == {"unleased"}
    assert ground.exists("hidden-old")
    assert ground.state("hidden-old") is ReplicaState.LIVE


def test_a_hold_added_during_the_grace_refuses_the_purge(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    with ground.catalog.writing("bob@node-1", ground.now()) as writing:
        writing.place_hold(ground.known("hidden-old").artifact_id, reason="for the paper")

    result = ground.purge()

    assert blocked_by(result) == {"no_hold"}
    assert ground.state("hidden-old") is ReplicaState.QUARANTINED


def test_the_input_that_made_it_recoverable_removed_during_the_grace_refuses_the_purge(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    plan = ground.plan("corpus", waivers=("recoverable",), waiver_reason="have it elsewhere")
    ground.apply(plan)
    hidden = next(item for item in ground.aside() if item.artifact.name == "hidden-old")

    from artifactctl.reclaim import applying

    result = applying.purge(ground.workplace, [hidden], reason="old")

    assert blocked_by(result) == {"recoverable"}
    (blocked,) = [e for step in result.steps for e in step.evidence if not e.permits_removal]
    assert blocked.remedy == (
        "record its inputs with `artifactctl link`, or give it up: put it back "
        '(`artifactctl quarantine restore hidden-old`) and reclaim it with `--waive recoverable --reason "..."`'
    )


def test_the_only_input_of_something_in_quarantine_is_not_given_up_without_a_waiver(ground: Ground) -> None:
    ground.quarantine("hidden-old")

    plan = ground.plan("corpus")

    assert not plan.steps
    assert "only from it" in " ".join(e.reason for item in plan.refused for e in item.blocking)


@pytest.mark.parametrize("verified", [True, False], ids=["verified successor", "unverified successor"])
def test_the_only_input_of_what_is_gone_stays_unless_a_verified_successor_took_its_place(
    ground: Ground, verified: bool
) -> None:
    ground.artifact("hidden-new")
    ground.supersede("hidden-old", "hidden-new")
    ground.artifact("corpus-new", kind=ArtifactKind.MERGED_CORPUS)
    ground.supersede("corpus", "corpus-new")
    ground.verify("corpus-new")
    ground.quarantine("hidden-old")
    ground.machine.clock.advance(DAY * 30)
    assert outcomes(ground.purge()) == [StepOutcome.PURGED]
    if verified:
        ground.verify("hidden-new")

    plan = ground.plan("corpus")

    reasons = " ".join(e.reason for item in plan.refused for e in item.blocking)
    assert [step.name for step in plan.steps] == (["corpus"] if verified else [])
    assert ("hidden-old, already removed, could be built again only from it" in reasons) is not verified


def test_what_was_written_to_after_it_was_superseded_is_something_new_until_somebody_says_so_again(
    ground: Ground,
) -> None:
    for name in ("answers-old", "answers-new"):
        ground.artifact(name, kind=ArtifactKind.RESPONSE_SET)
    ground.verify("answers-new")
    ground.supersede("answers-old", "answers-new")
    ground.machine.clock.advance(DAY)
    assert [step.name for step in ground.plan("answers-old").steps] == ["answers-old"]

    ground.machine.do.write(ROOT_PATH + b"/answers-old/shard-0", b"y" * 5000)
    ground.machine.clock.advance(DAY)
    after_writing = ground.plan("answers-old")
    ground.supersede("answers-old", "answers-new")
    said_again = ground.plan("answers-old")

    assert [e.guard for item in after_writing.refused for e in item.blocking] == ["recoverable"]
    assert "after it was recorded as superseded by answers-new" in after_writing.refused[0].blocking[0].reason
    assert [step.name for step in said_again.steps] == ["answers-old"]


@pytest.mark.parametrize("leads_to", [b"", b"/shard-0"], ids=["the folder", "a member"])
def test_a_link_made_to_what_lies_in_quarantine_refuses_the_purge(ground: Ground, leads_to: bytes) -> None:
    ground.quarantine("hidden-old")
    content = ROOT_PATH + b"/.artifactctl/quarantine/op1-1/content"
    ground.machine.do.symlink(content + leads_to, ROOT_PATH + b"/best")

    result = ground.purge()

    assert blocked_by(result) == {"not_referenced"}
    assert ground.state("hidden-old") is ReplicaState.QUARANTINED


def test_a_stray_file_blocks(ground: Ground) -> None:
    ground.machine.do.write(OLD + b"/notes.txt", b"mine")
    ground.machine.clock.advance(DAY)

    plan = ground.plan("hidden-old")

    assert [e.guard for e in plan.refused[0].blocking] == ["known_members"]
    assert "notes.txt" in plan.refused[0].blocking[0].reason


def test_a_superseded_artifact_goes_once_its_successor_is_verified(ground: Ground) -> None:
    ground.artifact("response", shards=1)
    ground.artifact("response-new", shards=1)
    ground.supersede("response", "response-new")

    before = ground.plan("response")
    ground.verify("response-new")
    after = ground.plan("response")

    assert [e.guard for e in before.refused[0].blocking] == ["recoverable"]
    assert [step.name for step in after.steps] == ["response"]


def test_a_successor_that_changed_after_its_verification_is_not_verified(ground: Ground) -> None:
    ground.artifact("response", shards=1)
    ground.artifact("response-new", shards=1)
    ground.supersede("response", "response-new")
    ground.verify("response-new")
    ground.machine.do.append(ROOT_PATH + b"/response-new/shard-0", b"torn")
    ground.machine.clock.advance(DAY)

    plan = ground.plan("response")

    assert [e.guard for e in plan.refused[0].blocking] == ["recoverable"]


def test_restoring_onto_an_occupied_place_changes_nothing(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    ground.machine.do.mkdir(OLD)
    ground.machine.do.write(OLD + b"/new", b"new")

    with pytest.raises(Refused, match="something else stands there"):
        ground.restore()

    assert ground.state("hidden-old") is ReplicaState.QUARANTINED
    assert ground.exists("hidden-old/new")
    ground.restore(to=b"hidden-back")
    assert ground.exists("hidden-back")


def test_nothing_expires_before_its_grace_nor_by_a_clock_that_ran_backwards(ground: Ground) -> None:
    from artifactctl.reclaim.quarantined import expired

    ground.quarantine("hidden-old")
    with ground.catalog.reading() as reading:
        early = expired(reading, now=ground.now() + timedelta(days=6), clock_trusted=True)
        late = expired(reading, now=ground.now() + timedelta(days=8), clock_trusted=True)
        wrong = expired(reading, now=ground.now() + timedelta(days=8), clock_trusted=False)

    assert (len(early), len(late), len(wrong)) == (0, 1, 0)


def test_every_change_of_state_is_in_the_audit_chain(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    ground.restore()
    ground.quarantine("hidden-old")
    ground.purge()

    with ground.catalog.reading() as reading:
        events = list(audit.events(reading.connection, artifact="hidden-old"))
        proof = audit.verify(reading.connection)

    assert [event.entry.action for event in events] == [
        "quarantine.begin",
        "quarantine.done",
        "restore.begin",
        "restore.done",
        "quarantine.begin",
        "quarantine.done",
        "purge.begin",
        "purge.done",
    ]
    assert proof.ok
    assert all(event.entry.reason for event in events)


def test_what_another_operation_set_aside_inside_keeps_the_folder_around_it(ground: Ground) -> None:
    inside = OLD + b"/.artifactctl-quarantine-op9"
    for folder in (inside, inside + b"/content"):
        ground.machine.do.mkdir(folder)
    ground.machine.do.write(inside + b"/content/shard", b"the only copy of something else")
    ground.machine.clock.advance(DAY)

    plan = ground.plan("hidden-old")

    assert plan.steps == ()
    assert {"known_members", "unchanged"} <= {e.guard for e in plan.refused[0].blocking}


def test_a_step_that_fails_leaves_the_others_alone(ground: Ground) -> None:
    ground.artifact("hidden-b")
    ground.link("hidden-b", "corpus", LineageRole.EXTRACTED_FROM)
    plan = ground.plan("hidden-old", "hidden-b")
    ground.machine.points.fail_call("set_aside", HostFailure("the disk said EIO"))

    result = ground.apply(plan)

    assert outcomes(result) == [StepOutcome.FAILED, StepOutcome.QUARANTINED]
    assert ground.state("hidden-old") is ReplicaState.LIVE
    assert ground.exists("hidden-old")
    assert result.exit_code is ExitCode.PARTLY_DONE


def test_an_interrupted_plan_is_finished_by_a_resume(ground: Ground) -> None:
    ground.artifact("hidden-b")
    ground.link("hidden-b", "corpus", LineageRole.EXTRACTED_FROM)
    plan = ground.plan("hidden-old", "hidden-b")
    ground.machine.points.fail_call("set_aside", HostFailure("the disk said EIO"))
    ground.apply(plan)

    with pytest.raises(StalePlan, match="applied already"):
        ground.apply(plan)
    result = ground.apply(plan, resume=True)

    assert [(s.name, s.outcome) for s in result.steps] == [("hidden-old", StepOutcome.QUARANTINED)]


def test_a_root_of_another_epoch_is_read_only(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    marker = ground.machine.read_marker(ROOT_PATH)
    assert marker is not None
    ground.machine.do.unlink(ROOT_PATH + b"/.artifactctl/root.json")
    ground.machine.write_marker(ROOT_PATH, replace(marker, catalog_epoch=marker.catalog_epoch + 1))

    with pytest.raises(Refused, match="epoch 2 of this catalog is in charge of it"):
        ground.apply(plan)
    assert ground.exists("hidden-old")


def test_two_operators_with_overlapping_plans_apply_each_step_once(ground: Ground) -> None:
    first = ground.plan("hidden-old")
    second = ground.plan("hidden-old", purge_now=True)

    done = ground.apply(first)
    late = ground.apply(second)

    assert outcomes(done) == [StepOutcome.QUARANTINED]
    assert outcomes(late) == [StepOutcome.REFUSED]
    assert ground.state("hidden-old") is ReplicaState.QUARANTINED


@pytest.mark.parametrize(
    ("anew", "says", "purged"),
    [
        (b"", b"hidden-old", False),
        (b"shard-7", b"hidden-old", True),
        (b"shard-0", b"hidden-old/shard-0", True),
        (b"shard-7", b"hidden-old/shard-0", False),
        (b"shard-7", ROOT_PATH + b"/.artifactctl/quarantine/op1-1/content/shard-0", False),
        (b"", ROOT_PATH + b"/.artifactctl/quarantine/op1-1/content", False),
        (b"", ROOT_PATH + b"/.artifactctl/quarantine/op1-1", False),
    ],
    ids=[
        "to its old path, where nothing is",
        "to its old path, which was made anew",
        "to a member that was made anew",
        "to a member that the new one lacks",
        "to a member in quarantine",
        "into the quarantine",
        "to the folder that holds it there",
    ],
)
def test_a_link_blocks_a_purge_when_it_means_the_bytes_in_quarantine(
    ground: Ground, anew: bytes, says: bytes, purged: bool
) -> None:
    ground.quarantine("hidden-old")
    if anew:
        ground.machine.do.mkdir(ROOT_PATH + b"/hidden-old")
        ground.machine.do.write(ROOT_PATH + b"/hidden-old/" + anew, b"new data")
    ground.machine.do.symlink(says, ROOT_PATH + b"/latest")

    [step] = ground.purge().steps

    blocking = [item for item in step.evidence if not item.permits_removal]
    assert step.outcome is (StepOutcome.PURGED if purged else StepOutcome.REFUSED)
    assert [item.guard for item in blocking] == ([] if purged else ["not_referenced"])
    assert all("/data/latest" in item.reason for item in blocking)
    if not purged:
        ground.machine.do.unlink(ROOT_PATH + b"/latest")
        assert [step.outcome for step in ground.purge().steps] == [StepOutcome.PURGED]
    assert ground.machine.disk.exists(ROOT_PATH + b"/hidden-old") is bool(anew)


@pytest.mark.parametrize("what", ["as it was verified", "never verified", "changed since", "open for writing", "gone"])
def test_the_last_input_of_something_removed_may_go_only_while_what_replaced_that_is_proven_on_disk(
    ground: Ground, what: str
) -> None:
    ground.artifact("responses", kind=ArtifactKind.RESPONSE_SET)
    ground.link("corpus", "responses", LineageRole.MERGED_FROM)
    ground.artifact("hidden-new")
    ground.supersede("hidden-old", "hidden-new")
    ground.verify("hidden-new")
    ground.quarantine("hidden-old")
    assert [step.outcome for step in ground.purge().steps] == [StepOutcome.PURGED]
    shard = ROOT_PATH + b"/hidden-new/shard-0"
    if what == "never verified":
        replica = ground.replica("hidden-new")
        with ground.catalog.writing("ada@node-1", ground.now()) as writing:
            writing.set_verified(replica.replica_id, VerifyLevel.HEADERS, "", ok=False)
    elif what == "changed since":
        ground.machine.do.write(shard, b"y" * 5000)  # of the same size: the members still agree
    elif what == "open for writing":
        ground.machine.processes.hold(shard, writes=True)
    elif what == "gone":
        ground.machine.do.unlink(shard)

    [step, *rest] = [*ground.plan("corpus").steps, *ground.plan("corpus").refused]

    blocking = [(item.guard, item.reason) for item in step.evidence if not item.permits_removal]
    assert rest == []
    if what == "as it was verified":
        assert blocking == []
    else:
        assert blocking == [("recoverable", "hidden-old, already removed, could be built again only from it")]
