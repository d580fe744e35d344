"""What a server may be like: every setting that loses states is refused with the flag to change."""

import json
from pathlib import Path
from typing import Any

import pytest

from artifactctl.domain.errors import Refused, UsageError
from extract.sglang.conventions import captured_boundaries, default_boundaries, ids_for
from extract.sglang.settings import FACTORY, Via, launch_flags, read_settings
from tests.extract.sglang.fake_server import RECORDED

HOOKS = [{"hook_factory": FACTORY, "config": {"spool": "/dev/shm/spool", "layers": [2, 4, 5]}}]
URL = "http://far:30000"


def info(**changes: Any) -> dict[str, Any]:
    """Return what a good server says, with these changes."""
    return {**RECORDED, "forward_hooks": HOOKS, **changes}


def refusal(via: Via = Via.HOOK, **changes: Any) -> str:
    """Return why such a server is refused, all of it."""
    with pytest.raises(Refused) as refused:
        read_settings(info(**changes), url=URL, via=via)
    return "\n".join((refused.value.message, *refused.value.further))


def test_what_a_real_server_said_is_taken() -> None:
    settings = read_settings(info(), url=URL, via=Via.HOOK)

    assert settings.version == "0.5.23"
    assert settings.longest_tokens == 2041
    assert settings.hook is not None
    assert settings.hook.layers == (2, 4, 5)


@pytest.mark.parametrize(
    ("field", "value", "flag"),
    [
        ("disable_radix_cache", False, "--disable-radix-cache"),
        ("chunked_prefill_size", 8192, "--chunked-prefill-size -1"),
        ("enable_dynamic_chunking", True, "no --enable-dynamic-chunking"),
        ("allow_auto_truncate", True, "no --allow-auto-truncate"),
        ("enable_mixed_chunk", True, "no --enable-mixed-chunk"),
        ("enable_return_aux_hidden_states", False, "--enable-return-aux-hidden-states"),
        ("aux_hidden_state_capture", "dflash", "--speculative-algorithm EAGLE3"),
        ("speculative_algorithm", "EAGLE3", "no --speculative-draft-model-path"),
        ("pp_size", 2, "--pp-size 1"),
        ("disaggregation_mode", "prefill", "no --disaggregation-mode"),
        ("version", "0.5.22", "0.5.23 or newer"),
        ("version", "", "0.5.23 or newer"),
    ],
)
@pytest.mark.parametrize("via", list(Via))
def test_a_setting_that_loses_states_is_refused_either_way(via: Via, field: str, value: object, flag: str) -> None:
    assert flag in refusal(via, **{field: value})


@pytest.mark.parametrize(
    ("field", "value", "flag"),
    [
        ("cuda_graph_config", {"prefill": {"backend": "breakable"}}, "--disable-cuda-graph"),
        ("disable_overlap_schedule", False, "--disable-overlap-schedule"),
        ("enable_dp_attention", True, "no --enable-dp-attention"),
        ("attn_cp_size", 2, "--attn-cp-size 1"),
        ("enable_two_batch_overlap", True, "no --enable-two-batch-overlap"),
        ("enable_torch_compile", True, "no --enable-torch-compile"),
        ("enable_layernorm_sp", True, "no --enable-layernorm-sp"),
        ("enable_attn_tp_input_scattered", True, "no --enable-attn-tp-input-scattered"),
        ("forward_hooks", None, "--forward-hooks"),
        ("forward_hooks", HOOKS * 2, "--forward-hooks"),
        ("forward_hooks", [{"hook_factory": FACTORY, "config": {"spool": "x"}}], "--forward-hooks"),
        ("watchdog_timeout", 30, "--watchdog-timeout above 60"),
    ],
)
def test_what_keeps_the_hook_from_seeing_states_matters_for_the_hook_only(field: str, value: object, flag: str) -> None:
    assert flag in refusal(**{field: value})
    assert read_settings(info(**{field: value}), url=URL, via=Via.HTTP).hook is None


def test_graphs_that_other_flags_turned_on_again_are_seen() -> None:
    graphs = {"prefill": {"backend": "full"}}

    assert "full" in refusal(disable_cuda_graph=True, cuda_graph_config=graphs)


def test_every_wrong_setting_is_named_at_once() -> None:
    told = refusal(disable_radix_cache=False, chunked_prefill_size=2048, version="0.4.1")

    assert all(flag in told for flag in ("--disable-radix-cache", "--chunked-prefill-size -1", "0.5.23"))


def test_a_setting_that_a_server_does_not_say_is_not_known_and_refused() -> None:
    silent = {name: value for name, value in info().items() if name != "disable_radix_cache"}

    with pytest.raises(Refused, match="does not say disable_radix_cache"):
        read_settings(silent, url=URL, via=Via.HOOK)


def test_true_is_not_taken_for_one() -> None:
    assert "--pp-size 1" in refusal(pp_size=True)


def test_the_flags_that_are_offered_make_settings_that_are_taken() -> None:
    flags = launch_flags(spool="/dev/shm/spool", layers=(2, 4, 5), final_state=True, ids=None, via=Via.HOOK)

    hooks = json.loads(flags[flags.index("--forward-hooks") + 1])
    assert read_settings(info(forward_hooks=hooks), url=URL, via=Via.HOOK).hook is not None


@pytest.mark.parametrize(
    ("architecture", "blocks", "ids", "boundaries"),
    [
        ("LlamaForCausalLM", 8, [1, 3, 4], (2, 4, 5)),
        ("Qwen3MoeForCausalLM", 48, [1, 23, 44], (2, 24, 45)),
        ("KimiK25ForConditionalGeneration", 61, [1, 29, 57], (2, 30, 58)),
        ("DeepseekV3ForCausalLM", 61, [2, 30, 58], (2, 30, 58)),
        ("GptOssForCausalLM", 36, [1, 17, 32], (2, 18, 33)),
        ("GptOssForCausalLM", 36, [2, 18, 36], (2, 18, 36)),
        ("AnybodysModel", 61, None, (2, 30, 58)),
    ],
)
def test_ids_mean_the_boundaries_that_the_family_of_the_model_reads_in_them(
    architecture: str, blocks: int, ids: list[int] | None, boundaries: tuple[int, ...]
) -> None:
    assert captured_boundaries(ids, blocks, [architecture]) == boundaries
    offered = ids_for(boundaries, blocks, [architecture])
    assert captured_boundaries(offered, blocks, [architecture]) == boundaries


@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "KimiK25ForConditionalGeneration", "GptOssForCausalLM"])
def test_ids_that_are_offered_are_read_as_what_was_wanted(architecture: str) -> None:
    for wanted in ((1, 5, 20), (2, 30, 58), (3, 4), (7,), default_boundaries(61)):
        ids = ids_for(wanted, 61, [architecture])
        assert ids is None or captured_boundaries(ids, 61, [architecture]) == wanted


def test_ids_for_a_model_that_nobody_looked_at_are_not_guessed() -> None:
    with pytest.raises(UsageError, match="is not known"):
        captured_boundaries([1, 2], 61, ["AnybodysModel"])


def test_the_recorded_answer_is_that_of_a_real_server() -> None:
    content = json.loads((Path(__file__).parent / "server_info.json").read_bytes())

    assert content["version"] == "0.5.23"
    assert content["device"] == "cpu"
