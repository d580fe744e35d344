"""The engine over real HTTP: every record has its own states, or a reason; nothing is lost, doubled or mixed up."""

import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from artifactctl.api.formats import FinalState
from artifactctl.domain.errors import Busy, Refused, UsageError
from extract.running.checking import checked
from extract.running.engine import Computed, CorpusRecord, EngineRequest, Outcome, Unable
from extract.sglang.engine import SglangEngine, open_engine
from tests.extract.sglang.conftest import OpenEngine, record, records
from tests.extract.sglang.fake_server import FakeServer, Fault, FaultOf
from tests.extract.sglang.model_tree import CausalModel

VIAS = pytest.mark.parametrize("via", ["hook", "http"])


def outcomes(engine: SglangEngine, wanted: list[CorpusRecord]) -> dict[int, Outcome]:
    """Return what came of each record, once each."""
    came = list(engine.compute(iter(wanted)))
    assert sorted(each.index for each in came) == [each.index for each in wanted]
    return {each.index: each for each in came}


def require_right(came: dict[int, Outcome], wanted: list[CorpusRecord]) -> None:
    """Compare the states of every record with those of its own tokens, by the checks of the runner as well."""
    model = CausalModel()
    for each in wanted:
        outcome = came[each.index]
        assert isinstance(outcome, Computed), outcome
        right = model.states(each.token_ids.tolist())
        mine = outcome.layers if outcome.final is None else (*outcome.layers, outcome.final)
        for state, expected in zip(mine, right, strict=False):
            np.testing.assert_array_equal(state, expected)


def only_failure(came: dict[int, Outcome]) -> Unable:
    """Return the one outcome that is none."""
    (failed,) = [each for each in came.values() if isinstance(each, Unable)]
    return failed


def first(fault: Fault, times: int = 1) -> FaultOf:
    """Return faults that the first requests have and later ones do not."""
    return lambda request, number: fault if number < times else None


@VIAS
def test_every_record_has_the_states_of_its_own_tokens(opened: OpenEngine, tmp_path: Path, via: str) -> None:
    with FakeServer(spool=tmp_path / "spool") as server:
        engine = opened(server, via=via)

        wanted = records(60)
        came = outcomes(engine, wanted)

        require_right(came, wanted)
        assert [name for name in (tmp_path / "spool").iterdir() if not name.name.startswith(".")] == []
        assert all((each.final is not None) is (via == "hook") for each in came.values() if isinstance(each, Computed))


def test_the_runner_takes_what_the_engine_gives(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool") as server:
        engine = opened(server)
        (wanted,) = records(1)

        (outcome,) = engine.compute(iter([wanted]))

        assert isinstance(outcome, Computed)
        written = checked(wanted, outcome, np.ones(wanted.tokens, "u1"), engine.facts.form)
        assert written.states.shape == (wanted.tokens, engine.facts.form.width)
        assert engine.facts.layers == (2, 4, 5)
        assert engine.facts.final_state is FinalState.POST


def test_http_says_what_it_costs_and_lacks(opened: OpenEngine, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer() as server:
        opened(server, via="http")

    told = capsys.readouterr().err
    assert "six times the bytes" in told
    assert "final state never comes" in told


def test_servers_may_come_with_commas_between(model: Path, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "one") as one, FakeServer(spool=tmp_path / "two") as two:
        both = (f"{one.url}, {two.url}",)
        engine = open_engine(EngineRequest(model=model, final_state=FinalState.POST, servers=both), at_once=1)
        wanted = records(20)

        require_right(outcomes(engine, wanted), wanted)

        assert one.served
        assert two.served
        engine.close()


@VIAS
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(cached=3), "3 of its 8 tokens were cached"),
        (Fault(chunk=5), "--chunked-prefill-size -1|were cached"),
        (Fault(nan=True), "not finite"),
        (Fault(status=400, body=b'{"error":{"message":"The input is longer"}}'), "400: The input is longer"),
    ],
    ids=["cached", "chunked", "nan", "refused"],
)
def test_a_record_that_cannot_be_right_is_given_up_at_once_with_the_reason(
    opened: OpenEngine, tmp_path: Path, via: str, fault: Fault, reason: str
) -> None:
    with FakeServer(spool=tmp_path / "spool", faults=first(fault)) as server:
        engine = opened(server, via=via, at_once=1)
        wanted = [record(0, *range(8)), *records(4)[1:]]

        came = outcomes(engine, wanted)

        failed = only_failure(came)
        assert failed.index == 0
        assert re.search(reason, failed.reason), failed.reason
        require_right({each.index: came[each.index] for each in wanted[1:]}, wanted[1:])
        assert len(server.served) == 4


@VIAS
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, body=b"oops"),
        Fault(status=429, body=b'{"error":"queue is full"}'),
        Fault(cut=True),
        Fault(body=b'{"meta_info": {"prom'),
        Fault(abort="retracted"),
        Fault(slow_seconds=1.5),
    ],
    ids=["500", "429", "cut", "malformed", "aborted", "slow"],
)
def test_what_passes_is_tried_again_and_leaves_nothing_behind(
    opened: OpenEngine, tmp_path: Path, via: str, fault: Fault
) -> None:
    with FakeServer(spool=tmp_path / "spool", faults=first(fault, times=2)) as server:
        engine = opened(server, via=via, at_once=2, answer_seconds=0.7, patience_seconds=20)
        wanted = records(6)

        require_right(outcomes(engine, wanted), wanted)

        assert len(server.served) == 8
    leftover = [name.name for name in (tmp_path / "spool").iterdir() if not name.name.startswith(".")]
    assert leftover == [] or fault.slow_seconds


def test_an_answer_without_its_states_is_a_lost_record_and_asked_for_again(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool", faults=first(Fault(loses_states=True))) as server:
        wanted = records(3)

        require_right(outcomes(opened(server), wanted), wanted)

        assert len(server.served) == 4


def test_states_that_come_after_their_request_was_given_up_give_their_room_back(
    opened: OpenEngine, tmp_path: Path
) -> None:
    late = first(Fault(slow_seconds=1))
    with FakeServer(spool=tmp_path / "spool", faults=late, hook_config={"limit_bytes": 12_000}) as server:
        engine = opened(server, at_once=1, answer_seconds=0.4, patience_seconds=30)
        wanted = [record(index, *range(40)) for index in range(4)]

        require_right(outcomes(engine, wanted[:1]), wanted[:1])
        time.sleep(1)
        require_right(outcomes(engine, wanted[1:]), wanted[1:])

    assert [each.name for each in (tmp_path / "spool").iterdir() if not each.name.startswith(".")] == []


def test_no_record_is_passed_over_when_the_last_server_dies(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool") as server:
        engine = opened(server, patience_seconds=-1)
        server.stop()

        with pytest.raises(Refused, match="answers any more"):
            list(engine.compute(iter(records(3))))


def test_a_server_that_is_away_for_a_while_costs_no_record_its_attempts(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool", faults=first(Fault(cut=True), times=5)) as server:
        wanted = records(2)

        require_right(outcomes(opened(server, at_once=1, patience_seconds=30), wanted), wanted)


def test_a_record_that_never_comes_is_given_up_with_every_reason(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool", faults=lambda request, number: Fault(status=500, body=b"oops")) as server:
        failed = only_failure(outcomes(opened(server), [record(0, 1, 2, 3)]))

        assert "500: oops" in failed.reason
        assert len(failed.details) == 3
        assert len(server.served) == 4


@VIAS
def test_what_a_dying_server_had_goes_to_the_other(opened: OpenEngine, tmp_path: Path, via: str) -> None:
    dying = FakeServer(spool=tmp_path / "one", faults=lambda request, number: Fault(dies=True) if number > 5 else None)
    with dying, FakeServer(spool=tmp_path / "two") as living:
        wanted = records(40)

        require_right(outcomes(opened(dying, living, via=via), wanted), wanted)

        assert dying.served
        assert len(living.served) >= 30


def test_the_last_server_to_die_ends_the_pass_with_the_way_on(opened: OpenEngine, tmp_path: Path) -> None:
    dying = FakeServer(spool=tmp_path / "one", faults=lambda request, number: Fault(dies=True) if number > 2 else None)
    with dying:
        engine = opened(dying, patience_seconds=0.5)

        with pytest.raises(Refused, match="answers any more") as refused:
            list(engine.compute(iter(records(20))))

    assert "goes on from here" in refused.value.remedy


def test_a_spool_is_never_asked_for_more_than_it_holds(opened: OpenEngine, tmp_path: Path) -> None:
    config = {"limit_bytes": 16_000, "wait_seconds": 0.2}
    with FakeServer(spool=tmp_path / "spool", hook_config=config) as server:
        wanted = records(40)
        came = {}
        for each in opened(server).compute(iter(wanted)):
            time.sleep(0.01)
            came[each.index] = each

        require_right(came, wanted)
        assert len(server.served) == 40


def test_records_that_no_server_takes_are_told_and_not_sent(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(
        spool=tmp_path / "spool", hook_config={"limit_bytes": 16_000}, info={"max_req_input_len": 60}
    ) as it:
        engine = opened(it)

        came = outcomes(
            engine, [record(0, *[1] * 200), record(1, *[1] * 60), record(2, 64), record(3, -1), record(4, 5)]
        )

        reasons = [each.reason for _, each in sorted(came.items()) if isinstance(each, Unable)]
        assert [len(it.served), len(reasons)] == [1, 4]
        assert "limit_bytes" in reasons[0]
        assert "it has 60 tokens, the servers take 59" in reasons[1]
        assert all("beyond the model's vocabulary of 64" in reason for reason in reasons[2:])


def test_a_pass_that_is_left_early_ends_soon_and_the_next_one_is_right(opened: OpenEngine, tmp_path: Path) -> None:
    def slow(request: object, number: int) -> Fault | None:
        return Fault(slow_seconds=4) if number in (3, 4, 5) else None

    with FakeServer(spool=tmp_path / "spool", faults=slow) as server:
        engine = opened(server, answer_seconds=60)
        drawn: list[int] = []

        def drawing() -> object:
            for each in records(100):
                drawn.append(each.index)
                yield each

        began = time.monotonic()
        passing = engine.compute(drawing())  # type: ignore[arg-type]
        next(passing)
        passing.close()  # type: ignore[attr-defined]

        assert time.monotonic() - began < 3
        assert len(drawn) < 20
        wanted = records(10)
        require_right(outcomes(engine, wanted), wanted)
        assert threading.active_count() < 30


def test_no_records_is_no_work(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool") as server:
        assert list(opened(server).compute(iter([]))) == []
        assert server.served == []


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"disable_radix_cache": False}, "--disable-radix-cache"),
        ({"model_path": "/models/other"}, "this run is about"),
        ({"version": "0.5.14"}, "0.5.23"),
    ],
)
def test_a_server_with_wrong_settings_is_refused_before_a_record_is_sent(
    opened: OpenEngine, tmp_path: Path, info: dict[str, object], told: str
) -> None:
    with FakeServer(spool=tmp_path / "spool", info=info) as server, pytest.raises(Refused, match=told) as refused:
        opened(server)

    assert server.served == []
    assert "model_path" in info or "--forward-hooks" in refused.value.remedy


def test_other_layers_are_refused_with_the_whole_line_to_type(opened: OpenEngine, tmp_path: Path) -> None:
    with (
        FakeServer(spool=tmp_path / "spool", hook_config={"layers": [1, 4, 5]}) as server,
        pytest.raises(Refused, match=r"\[1, 4, 5\] with the final state.*\[2, 4, 5\] with it") as refused,
    ):
        opened(server)

    assert "--forward-hooks" in refused.value.remedy
    assert '"layers": [2, 4, 5]' in refused.value.remedy


def test_a_server_that_captures_other_layers_than_its_hook_says_is_found_out(
    opened: OpenEngine, tmp_path: Path
) -> None:
    with (
        FakeServer(spool=tmp_path / "spool", model=CausalModel(layers=(1, 4, 5))) as server,
        pytest.raises(Refused, match=r"captures the boundaries \[1, 4, 5\]"),
    ):
        opened(server)


def test_a_hook_that_is_on_no_module_is_found_out(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool") as server:
        server.model.model._forward_hooks.clear()
        with pytest.raises(Refused, match="left nothing") as refused:
            opened(server)

    assert "target_modules" in refused.value.remedy


def test_a_server_that_is_not_there_is_refused_with_its_address(opened: OpenEngine, tmp_path: Path) -> None:
    server = FakeServer(spool=tmp_path / "spool")
    with server:
        url = server.url

    with pytest.raises(Refused, match=f"{url} does not say"):
        opened(server)


def test_two_servers_with_one_spool_or_of_two_versions_are_refused(opened: OpenEngine, tmp_path: Path) -> None:
    with (
        FakeServer(spool=tmp_path / "spool") as one,
        FakeServer(spool=tmp_path / "spool") as two,
        pytest.raises(Refused, match="have one spool"),
    ):
        opened(one, two)
    with (
        FakeServer(spool=tmp_path / "a") as one,
        FakeServer(spool=tmp_path / "b", info={"version": "0.6.0"}) as two,
        pytest.raises(Refused, match="differ in version"),
    ):
        opened(one, two)


def test_a_spool_that_is_on_another_machine_is_refused_and_not_made_here(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool", hook_config={"spool": str(tmp_path / "there")}) as server:
        for each in (tmp_path / "there").iterdir():
            each.unlink()
        (tmp_path / "there").rmdir()
        with pytest.raises(Refused, match="cannot be read here: No such file"):
            opened(server)

    assert not (tmp_path / "there").exists()


def test_a_second_extraction_from_one_server_has_to_wait(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(spool=tmp_path / "spool") as server:
        first_one = opened(server)
        with pytest.raises(Busy, match="another extraction reads the spool"):
            opened(server)

        first_one.close()
        opened(server)


@pytest.mark.parametrize(
    ("request_of", "told"),
    [
        ({"servers": ()}, "--server|needs the address"),
        ({"servers": ("http://a:1", "http://a:1")}, "once"),
        ({"servers": ("a:1",)}, "not the address"),
        ({"servers": ("http://a:x",)}, "not the address"),
        ({"final_state": FinalState.PRE}, "after the final norm only"),
        ({"final_state": FinalState.POST, "via": "http"}, "no final state"),
    ],
)
def test_what_no_server_can_do_is_refused_before_one_is_asked(
    model: Path, request_of: dict[str, object], told: str
) -> None:
    asked = {"model": model, "servers": ("http://127.0.0.1:9",), **request_of}

    with pytest.raises(UsageError, match=told):
        open_engine(EngineRequest(**asked))  # type: ignore[arg-type]


def test_an_engine_that_is_closed_amid_a_pass_leaves_nothing_going_on(opened: OpenEngine, tmp_path: Path) -> None:
    with FakeServer(
        spool=tmp_path / "spool", faults=lambda request, number: Fault(slow_seconds=3 * (number > 0))
    ) as it:
        engine = opened(it, answer_seconds=60)
        passing = engine.compute(iter(records(30)))
        next(passing)
        began = time.monotonic()

        engine.close()

        assert time.monotonic() - began < 2
        assert [each.name for each in threading.enumerate() if each.name.startswith("sglang")] == []
        del passing
