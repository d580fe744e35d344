"""The forward hook that SGLang runs in its scheduler process: `--forward-hooks` names `capture_hidden_states`.

What it relies on (sglang 0.5.23, read in its source and tried):
- The hook is called as hook(module, arguments, output) for every eager forward pass of `model`. One positional argument
  is the forward batch: `rids` names its requests in row order, `extend_seq_lens_cpu` the rows of each,
  `extend_prefix_lens_cpu` how many of its tokens were skipped because they were cached, `input_ids` the tokens of all
  rows, `forward_mode` whether it is a prefill (srt/model_executor/forward_batch_info.py).
- With `--enable-return-aux-hidden-states` the output is (final, captured). `final` [N, H] is after the final norm;
  `captured` is a list of [N, H], or one packed [N, K * H] (models with AuxHiddenStatePacker: DeepSeek, Kimi).
  The module's `layers_to_capture` are hidden-state boundaries as Hugging Face counts them, whatever ids the server was
  given: state i is taken before block i (srt/models/llama.py, deepseek_v2.py). That attribute is what is believed.
- A packed state may lie in a buffer that the next pass writes anew: states are copied before the hook returns.
- Every rank of a tensor-parallel group has the complete states after the final norm; rank 0 writes.

Shape suffixes: N rows of the batch, L rows of one request, H hidden size, K captured layers.

Only torch and the standard library are there. Where a record cannot be written a refusal says why, and the pass goes
on: a server never ends, and never waits beyond its limit, because of us.
"""

import ctypes
import importlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extract.sglang.spool import DIGEST_BYTES, OURS, NoRoom, Spool, preamble

logger = logging.getLogger(__name__)

DEFAULT_LIMIT_BYTES = 8 * 2**30
DEFAULT_WAIT_SECONDS = 60.0
"""SGLang's own watchdog ends a server whose pass takes longer than `--watchdog-timeout`, 300 seconds."""

_STRIPE_ROWS = 4096
_ELEMENTS = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}


class Unfit(Exception):
    """The pass does not have the states that were asked for; the message says what it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """What stands under `config` in the server's flag. `layers` are hidden-state boundaries, ascending."""

    spool: str
    layers: tuple[int, ...]
    final_state: bool
    limit_bytes: int = DEFAULT_LIMIT_BYTES
    wait_seconds: float = DEFAULT_WAIT_SECONDS

    def __post_init__(self) -> None:
        if not self.spool.startswith("/"):
            raise ValueError(f"`spool` is the absolute path of a folder, not {self.spool!r}")
        if list(self.layers) != sorted(set(self.layers)) or not (self.layers or self.final_state):
            raise ValueError(f"`layers` are boundaries, ascending and once each, not {list(self.layers)}")
        if self.limit_bytes < 1 or not 0 < self.wait_seconds < 3600:
            raise ValueError("`limit_bytes` is at least 1, `wait_seconds` between 0 and 3600")

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> "HookSettings":
        """Return what a server was given; ValueError names what is wrong or unknown in it."""
        unknown = sorted(set(config) - set(cls.__slots__))
        if unknown or "spool" not in config or "layers" not in config:
            raise ValueError(f"config needs `spool` and `layers` and knows {', '.join(cls.__slots__)}, not {unknown}")
        return cls(
            spool=str(config["spool"]),
            layers=tuple(int(layer) for layer in config["layers"]),
            final_state=bool(config.get("final_state", True)),
            limit_bytes=int(config.get("limit_bytes", DEFAULT_LIMIT_BYTES)),
            wait_seconds=float(config.get("wait_seconds", DEFAULT_WAIT_SECONDS)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRows:
    """The rows of one request in a batch; `cached` of its tokens have none."""

    request: str
    begin: int
    end: int
    cached: int


def capture_hidden_states(config: Mapping[str, Any]) -> "StatesCapture | None":
    """Return the hook, None on every rank but the first; a wrong `config` keeps the server from starting."""
    settings = HookSettings.of_config(config)
    distributed = importlib.import_module("torch.distributed")
    if distributed.is_available() and distributed.is_initialized() and distributed.get_rank() != 0:
        return None
    return StatesCapture(settings)


class StatesCapture:
    """Writes the states of our requests of every prefill into the spool."""

    def __init__(self, settings: HookSettings) -> None:
        self._settings = settings
        self._spool = Spool(settings.spool, settings.limit_bytes)
        self._spool.make()
        self._spool.remove_torn()

    def __call__(self, module: Any, arguments: Sequence[Any], output: Any) -> None:
        """Handle one forward pass; what the module puts out is not changed."""
        batch = next((argument for argument in arguments if hasattr(argument, "extend_seq_lens_cpu")), None)
        if batch is None or not batch.forward_mode.is_extend():
            return
        rows = rows_of(batch)
        ours = [each for each in rows if OURS.fullmatch(each.request)]
        if not ours:
            return
        until = time.monotonic() + self._settings.wait_seconds
        try:
            states = self._states(module, output, rows[-1].end)
            if len(batch.input_ids) != rows[-1].end:
                raise Unfit(f"the pass has {len(batch.input_ids)} token ids for {rows[-1].end} rows")
        except Unfit as unfit:
            for each in ours:
                self._refuse(each.request, str(unfit))
            return
        for each in ours:
            self._write(each, batch.input_ids[each.begin : each.end], states, until)

    def _states(self, module: Any, output: Any, rows: int) -> list[Any]:
        """Return the states that were asked for, each [N, H], on the device; Unfit when they are not these."""
        captured = [int(layer) for layer in getattr(module, "layers_to_capture", ())]
        if captured != list(self._settings.layers):
            raise Unfit(f"the server captures the boundaries {captured}, the hook is to take {self._settings.layers}")
        final, aux = output if isinstance(output, tuple) else (output, [])
        states = [*(_unpacked(aux, len(captured))), *([final] if self._settings.final_state else [])]
        shapes = {tuple(state.shape) for state in states}
        if len(states) != len(captured) + self._settings.final_state or shapes != {(rows, int(final.shape[-1]))}:
            raise Unfit(f"the pass has {len(states)} states of the shapes {sorted(shapes)} for {rows} rows")
        if len({str(state.dtype) for state in states}) != 1 or str(final.dtype) not in _ELEMENTS:
            raise Unfit(f"the states are {sorted({str(state.dtype) for state in states})}")
        return states

    def _write(self, rows: RequestRows, token_ids: Any, states: Sequence[Any], until: float) -> None:
        header = preamble(
            {
                "request": rows.request,
                "tokens": rows.end - rows.begin,
                "cached": rows.cached,
                "hidden_size": int(states[0].shape[1]),
                "layers": list(self._settings.layers),
                "final_state": self._settings.final_state,
                "dtype": _ELEMENTS[str(states[0].dtype)],
            }
        )
        row_bytes = 4 + sum(int(state.shape[1]) * state.element_size() for state in states)
        size_bytes = len(header) + (rows.end - rows.begin) * row_bytes + DIGEST_BYTES
        try:
            file = self._spool.begin(rows.request, size_bytes, until=until)
            try:
                file.write(header)
                file.write(_content(token_ids.to(dtype=_int32())))
                for state in states:
                    for begin in range(rows.begin, rows.end, _STRIPE_ROWS):
                        file.write(_content(state[begin : min(begin + _STRIPE_ROWS, rows.end)]))
            except BaseException:
                file.discard()
                raise
            file.publish()
        except (NoRoom, OSError) as error:
            self._refuse(rows.request, str(error))

    def _refuse(self, request: str, reason: str) -> None:
        """Say why a record will not come; where even that cannot be written its absence says so to the reader."""
        logger.warning("artifactctl: no states of %s: %s", request, reason)
        try:
            self._spool.refuse(request, reason)
        except OSError as error:
            logger.error("artifactctl: nor could the spool take the reason: %s", error)


def rows_of(batch: Any) -> list[RequestRows]:
    """Return which rows of a prefill belong to which request, in their order."""
    cached = batch.extend_prefix_lens_cpu or [0] * len(batch.rids)
    found, begin = [], 0
    for request, length, prefix in zip(batch.rids, batch.extend_seq_lens_cpu, cached, strict=True):
        end = begin + int(length)
        found.append(RequestRows(request=str(request), begin=begin, end=end, cached=int(prefix)))
        begin = end
    return found


def _unpacked(aux: Any, layers: int) -> list[Any]:
    """Return the captured states one by one, packed or not; a view where they were packed."""
    if not hasattr(aux, "shape"):
        return list(aux)
    width = int(aux.shape[-1])
    if not layers or width % layers:
        return [aux]
    return [aux[:, at : at + width // layers] for at in range(0, width, width // layers)]


def _content(tensor: Any) -> memoryview:
    """Return the bytes of a tensor, copied from the device and contiguous."""
    on_host = tensor.detach().contiguous().cpu()
    size_bytes = on_host.numel() * on_host.element_size()
    content = (ctypes.c_char * size_bytes).from_address(on_host.data_ptr())
    content.tensor = on_host  # the memory is the tensor's, and lives as long as something refers to it
    return memoryview(content).cast("B")


def _int32() -> Any:
    return importlib.import_module("torch").int32
