"""What a server says of itself under `/server_info`, and whether states may be taken from it.

The fields are those of sglang 0.5.23 (srt/arg_groups/fields/*.py; `/server_info` answers with what resolution made of
them, srt/entrypoints/http_server.py). A field that is not there is not known, and not knowing is a no.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from artifactctl.domain.errors import Refused
from extract.sglang.hook import HookSettings

OLDEST = (0, 5, 23)
"""The first with `--enable-return-aux-hidden-states`."""

FACTORY = "extract.sglang.hook:capture_hidden_states"
EXAMPLE_SPOOL = "/dev/shm/artifactctl-spool"
_ABSENT = object()


class Via(StrEnum):
    """How states come out of a server."""

    HOOK = "hook"
    HTTP = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What matters of a server that may be used. `hook` is None where states come over HTTP."""

    version: str
    model_path: str
    weight_version: str
    dtype: str
    quantization: str
    layer_ids: tuple[int, ...] | None
    longest_tokens: int
    hook: HookSettings | None

    def is_same_model_as(self, other: "ServerSettings") -> bool:
        """Whether two servers compute the same numbers, as far as they say."""
        mine, theirs = (
            (each.version, each.weight_version, each.dtype, each.quantization, each.layer_ids) for each in (self, other)
        )
        return mine == theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """`field` must have one of `allowed`; else `flag` is what the server is started with."""

    field: str
    allowed: tuple[object, ...]
    flag: str
    why: str
    needed_over_http: bool = True
    may_be_absent: bool = False


_RULES = (
    _Rule(
        field="disable_radix_cache",
        allowed=(True,),
        flag="--disable-radix-cache",
        why="a cached prefix has no states, and nothing says so",
    ),
    _Rule(
        field="chunked_prefill_size",
        allowed=(-1, None),
        flag="--chunked-prefill-size -1",
        why="of a prompt in chunks only the last chunk comes back",
    ),
    _Rule(
        field="enable_dynamic_chunking",
        allowed=(False,),
        flag="no --enable-dynamic-chunking",
        why="of a prompt in chunks only the last chunk comes back",
    ),
    _Rule(
        field="allow_auto_truncate",
        allowed=(False,),
        flag="no --allow-auto-truncate",
        why="a prompt that is too long would be cut instead of refused",
    ),
    _Rule(
        field="enable_mixed_chunk",
        allowed=(False,),
        flag="no --enable-mixed-chunk",
        why="prefills would be mixed with decoding",
    ),
    _Rule(
        field="enable_return_aux_hidden_states",
        allowed=(True,),
        flag="--enable-return-aux-hidden-states --speculative-algorithm EAGLE3",
        why="no layers are captured without it",
    ),
    _Rule(
        field="aux_hidden_state_capture",
        allowed=("eagle3",),
        flag="--speculative-algorithm EAGLE3",
        why="other conventions capture other states",
    ),
    _Rule(
        field="speculative_algorithm",
        allowed=(None,),
        flag="no --speculative-draft-model-path",
        why="states under speculative decoding are cut",
    ),
    _Rule(field="pp_size", allowed=(1,), flag="--pp-size 1", why="only the last rank's layers are seen"),
    _Rule(
        field="disaggregation_mode",
        allowed=("null", None),
        flag="no --disaggregation-mode",
        why="prefill and decoding are elsewhere",
    ),
    _Rule(
        field="disable_overlap_schedule",
        allowed=(True,),
        flag="--disable-overlap-schedule",
        why="a reply must not come before its states are written",
        needed_over_http=False,
    ),
    _Rule(
        field="enable_dp_attention",
        allowed=(False,),
        flag="no --enable-dp-attention (nor --attn-dp-size; several servers instead)",
        why="rank 0 would have the states of a part of the requests, padded",
        needed_over_http=False,
    ),
    _Rule(
        field="attn_cp_size",
        allowed=(1,),
        flag="--attn-cp-size 1",
        why="rank 0 would have a part of each prompt",
        needed_over_http=False,
    ),
    _Rule(
        field="enable_layernorm_sp",
        allowed=(False, None),
        flag="no --enable-layernorm-sp",
        why="rank 0 would have a part of the rows",
        needed_over_http=False,
        may_be_absent=True,
    ),
    _Rule(
        field="enable_attn_tp_input_scattered",
        allowed=(False, None),
        flag="no --enable-attn-tp-input-scattered",
        why="rank 0 would have a part of the rows",
        needed_over_http=False,
        may_be_absent=True,
    ),
    _Rule(
        field="enable_two_batch_overlap",
        allowed=(False,),
        flag="no --enable-two-batch-overlap",
        why="a batch would pass through the layers in halves",
        needed_over_http=False,
    ),
    _Rule(
        field="enable_torch_compile",
        allowed=(False,),
        flag="no --enable-torch-compile",
        why="a compiled module may run no hooks",
        needed_over_http=False,
    ),
)


def read_settings(info: Mapping[str, Any], *, url: str, via: Via, flags: Sequence[str] = ()) -> ServerSettings:
    """Return the settings of a server; Refused names every wrong one with the flag to change, and all `flags`."""
    problems = [*_version_problems(info), *(_problem(rule, info) for rule in _RULES if _concerns(rule, via))]
    hook = None
    if via is Via.HOOK:
        problems += _graph_problems(info)
        hook, hook_problems = _hook_of(info)
        problems += hook_problems
    wrong = [problem for problem in problems if problem]
    if wrong:
        raise Refused(
            f"the server {url} cannot be used for extraction: {wrong[0]}",
            remedy=f"start it again with {shlex.join(flags)}" if flags else "start it again with the flags named",
            further=[f"the server {url}: {problem}" for problem in wrong[1:]],
        )
    ids = info.get("return_aux_hidden_state_layer_ids")
    return ServerSettings(
        version=str(info["version"]),
        model_path=str(info.get("model_path", "")),
        weight_version=str(info.get("weight_version", "")),
        dtype=str(info.get("dtype", "")),
        quantization=str(info.get("quantization") or ""),
        layer_ids=None if ids is None else tuple(int(each) for each in ids),
        longest_tokens=_longest_tokens(info),
        hook=hook,
    )


def launch_flags(
    *, layers: Sequence[int], final_state: bool, ids: Sequence[int] | None, via: Via, spool: str = EXAMPLE_SPOOL
) -> tuple[str, ...]:
    """Return the words that start a server fit for extraction, after the model and parallelism of its own."""
    words = [
        *("--enable-return-aux-hidden-states", "--speculative-algorithm", "EAGLE3"),
        *("--disable-radix-cache", "--chunked-prefill-size", "-1"),
    ]
    if ids is not None:
        words += ["--return-aux-hidden-state-layer-ids", *map(str, ids)]
    if via is Via.HOOK:
        config = {"spool": spool, "layers": list(layers), "final_state": final_state}
        hook = {
            "name": "artifactctl",
            "target_modules": ["model", "language_model.model"],
            "hook_factory": FACTORY,
            "config": config,
        }
        words += ["--disable-cuda-graph", "--disable-overlap-schedule", "--forward-hooks", json.dumps([hook])]
    return tuple(words)


def _concerns(rule: _Rule, via: Via) -> bool:
    return via is Via.HOOK or rule.needed_over_http


def _problem(rule: _Rule, info: Mapping[str, Any]) -> str:
    found = info.get(rule.field, _ABSENT)
    if found is _ABSENT:
        return "" if rule.may_be_absent else f"it does not say {rule.field}; it needs {rule.flag} ({rule.why})"
    fits = any(found == allowed and isinstance(found, bool) is isinstance(allowed, bool) for allowed in rule.allowed)
    return "" if fits else f"{rule.field} is {found!r}; it needs {rule.flag} ({rule.why})"


def _version_problems(info: Mapping[str, Any]) -> list[str]:
    version = str(info.get("version", ""))
    parts = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if parts and tuple(map(int, parts.groups())) >= OLDEST:
        return []
    oldest = ".".join(map(str, OLDEST))
    return [f"it is sglang {version or 'of an unknown version'}; it needs {oldest} or newer (pip install sglang)"]


def _graph_problems(info: Mapping[str, Any]) -> list[str]:
    """A replayed graph runs no hooks. What was resolved counts, since other flags can overrule the first one."""
    graphs = info.get("cuda_graph_config")
    prefill = graphs.get("prefill") if isinstance(graphs, Mapping) else None
    backend = prefill.get("backend") if isinstance(prefill, Mapping) else None
    if backend == "disabled" or (backend is None and info.get("disable_cuda_graph") is True):
        return []
    return [f"CUDA graphs for prefills are {backend or 'on'}; it needs --disable-cuda-graph (a graph runs no hooks)"]


def _hook_of(info: Mapping[str, Any]) -> tuple[HookSettings | None, list[str]]:
    hooks = [each for each in info.get("forward_hooks") or () if isinstance(each, Mapping)]
    configs = [each.get("config") or {} for each in hooks if each.get("hook_factory") == FACTORY]
    if len(configs) != 1:
        return None, [f"it has {len(configs)} hooks of {FACTORY}; it needs one in --forward-hooks"]
    try:
        settings = HookSettings.of_config(configs[0])
    except (ValueError, TypeError) as error:
        return None, [f"its hook cannot be read: {error}; change --forward-hooks"]
    watchdog = info.get("watchdog_timeout")
    if isinstance(watchdog, int | float) and settings.wait_seconds >= watchdog:
        needed = f"--watchdog-timeout above {settings.wait_seconds:g}, or less `wait_seconds` in --forward-hooks"
        return None, [
            f"its watchdog ends it after {watchdog:g} s, before its hook has waited for room; it needs {needed}"
        ]
    return settings, []


def _longest_tokens(info: Mapping[str, Any]) -> int:
    """Return the longest prompt that it takes; 0 where it does not say."""
    limit = info.get("max_req_input_len")
    return limit - 1 if isinstance(limit, int) and limit > 1 else 0
