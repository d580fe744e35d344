"""Runs, plans whose steps apply once, approvals, operations."""

from datetime import timedelta

import pytest

from artifactctl.catalog import StateChanged, StepUsed, UnknownObject
from artifactctl.domain.artifacts import RunState
from artifactctl.domain.errors import ExitCode
from artifactctl.domain.ledger import PlanState
from artifactctl.domain.operations import JournalEvent

DIGEST = "d" * 64
DAY = timedelta(days=1)


def test_a_run_is_found_by_stage_and_by_what_it_read_or_wrote(place, write, noon):
    corpus, states, other = (place(name).artifact_id for name in ("corpus", "states", "other"))
    with write() as writing:
        merge = writing.add_run("merge", state=RunState.SUCCEEDED, outputs=[corpus], duration_seconds=60.0)
        extraction = writing.add_run(
            "extraction", command="run.sh", started_at=noon, inputs=[corpus, corpus], cost_usd=312.5
        )
        finished = writing.finish_run(
            extraction.run_id, state=RunState.SUCCEEDED, finished_at=noon + timedelta(hours=19), outputs=[states]
        )

        assert writing.runs() == (merge, finished)
        assert writing.runs(stage="extraction") == (finished,)
        assert writing.runs(artifact_id=corpus) == (merge, finished)
        assert writing.runs(artifact_id=states) == (finished,)
        assert writing.runs(artifact_id=other) == ()
        with pytest.raises(StateChanged):
            writing.finish_run(extraction.run_id, state=RunState.FAILED, finished_at=noon)
        with pytest.raises(UnknownObject):
            writing.finish_run(99, state=RunState.FAILED, finished_at=noon)
    assert (finished.inputs, finished.outputs) == ((corpus,), (states,))
    assert finished.duration_seconds == 19 * 3600
    assert (finished.cost_usd, finished.cost_gpu_hours) == (312.5, None)


def test_a_step_of_a_plan_applies_at_most_once(catalog, write, noon):
    with write() as writing:
        writing.save_plan(DIGEST, '{"steps":[]}', expires_at=noon + DAY)
        writing.use_step(DIGEST, 0)
        writing.use_step(DIGEST, 2)

    with write() as writing:
        with pytest.raises(StepUsed) as refusal:
            writing.use_step(DIGEST, 2)
        writing.use_step("e" * 64, 2)
        plan = writing.plan(DIGEST)

    assert refusal.value.exit_code is ExitCode.REFUSED
    assert plan.used_steps == (0, 2)
    assert (plan.document, plan.state, plan.actor) == ('{"steps":[]}', PlanState.SAVED, "ada")


def test_a_step_claimed_in_a_transaction_that_failed_is_free_again(catalog, write):
    with pytest.raises(RuntimeError), write() as writing:
        _claim_and_fail(writing)

    with catalog.reading() as reading:
        assert reading.used_steps(DIGEST) == ()


def _claim_and_fail(writing):
    writing.use_step(DIGEST, 0)
    raise RuntimeError("the guards said no")


def test_saving_a_plan_again_keeps_the_first_and_the_later_expiry(write, noon):
    with write() as writing:
        writing.save_plan(DIGEST, "{}", expires_at=noon + DAY)
        again = writing.save_plan(DIGEST, "{}", expires_at=noon + 2 * DAY)
        earlier = writing.save_plan(DIGEST, "{}", expires_at=noon)
        writing.set_plan_state(DIGEST, PlanState.APPLYING)

        assert again.expires_at == earlier.expires_at == noon + 2 * DAY
        assert writing.plan(DIGEST).state is PlanState.APPLYING
        assert writing.plan("f" * 64) is None
        with pytest.raises(UnknownObject):
            writing.set_plan_state("f" * 64, PlanState.APPLIED)


def test_approvals_are_by_digest_saved_or_not(catalog, noon):
    with catalog.writing("ada", noon) as writing:
        writing.approve(DIGEST, reason="old hidden states")
    with catalog.writing("bob", noon + DAY) as writing:
        writing.approve(DIGEST, reason="seen")

        found = [(item.actor, item.reason, item.approved_at) for item in writing.approvals(DIGEST)]
        assert found == [("ada", "old hidden states", noon), ("bob", "seen", noon + DAY)]
        assert writing.approvals("e" * 64) == ()


def test_an_operation_remembers_where_the_copy_was_and_how_far_it_came(place, catalog, noon):
    artifact = place("run/a")
    replica = artifact.replicas[0].replica_id
    with catalog.writing("ada", noon) as writing:
        begun = writing.add_operation(
            "op-1",
            replica,
            plan_digest=DIGEST,
            step_index=1,
            reason="superseded",
            waivers=["settled"],
            placed=b".artifactctl/quarantine/op-1/a",
            fingerprint="print-1",
            expected_freed_bytes=2**40,
            grace_until=noon + 7 * DAY,
        )
    with catalog.writing("bob", noon + DAY) as writing:
        purged = writing.update_operation("op-1", state=JournalEvent.PURGED, measured_freed_bytes=0)

        assert writing.operation("op-1") == purged
        assert writing.operations(states={JournalEvent.PURGED}) == (purged,)
        assert writing.operations(states={JournalEvent.QUARANTINED}) == ()
        assert writing.operations(artifact_id=artifact.artifact_id, root_id="root-1") == (purged,)
        assert writing.operations(root_id="root-2") == ()
        with pytest.raises(StateChanged):
            writing.add_operation("op-1", replica)
        with pytest.raises(UnknownObject):
            writing.update_operation("op-2", state=JournalEvent.PURGED)
    assert (begun.original, begun.artifact_name, begun.waivers) == (b"run/a", "run/a", ("settled",))
    assert (begun.measured_freed_bytes, purged.measured_freed_bytes) == (None, 0)
    assert (begun.updated_at, purged.updated_at, purged.started_at) == (noon, noon + DAY, noon)


def test_what_is_kept_has_no_end_of_grace(place, write, noon):
    replica = place("a").replicas[0].replica_id
    with write() as writing:
        writing.add_operation("op-1", replica, grace_until=noon + DAY)

        assert writing.update_operation("op-1", state=JournalEvent.KEPT).grace_until is None
