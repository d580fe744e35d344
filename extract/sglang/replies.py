"""What a server's answers mean: bodies of errors, and states that came as JSON.

Form of a reply to `/generate` (sglang 0.5.23): `meta_info.hidden_states[0]` are the rows of the computed prompt tokens,
each with the captured layers one after the other, low to high. A value that is no number comes as null.

Shape suffixes: L tokens, H hidden size, K captured layers.
"""

import json
from collections.abc import Mapping
from typing import Any

from extract.sglang.attempts import AttemptFailed, Received

_LONGEST_MESSAGE = 300
_LATER = (408, 425, 429)
_LOW_HALF = 0xFFFF


def error_message(body: bytes) -> str:
    """Return what the body of an error says, whatever its form: {"error": {"message": ...}}, {"error": ...}, text."""
    try:
        content = json.loads(body)
    except ValueError:
        content = body.decode("utf-8", "replace")
    for key in ("error", "message", "detail"):
        if isinstance(content, Mapping) and key in content:
            content = content[key]
    text = content if isinstance(content, str) else json.dumps(content)
    return " ".join(text.split())[:_LONGEST_MESSAGE] or "nothing"


def require_answered(status: int, body: bytes) -> dict[str, Any]:
    """Return the reply; AttemptFailed with the server's own words when it is an error or cannot be read."""
    if status != 200:
        again = status >= 500 or status in _LATER
        raise AttemptFailed(f"the server answered {status}: {error_message(body)}", again=again)
    try:
        reply = json.loads(body)
    except ValueError as error:
        raise AttemptFailed(f"the server's answer is no JSON: {error}", again=True) from error
    if not isinstance(reply, dict):
        raise AttemptFailed("the server's answer is not that of one request", again=False)
    return reply


def require_prefilled(reply: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
    """Return a reply's `meta_info` when all of the tokens were computed; AttemptFailed otherwise."""
    meta = reply.get("meta_info")
    if not isinstance(meta, Mapping):
        raise AttemptFailed(
            f"the server's answer has no meta_info: {error_message(json.dumps(reply).encode())}", again=True
        )
    finish = meta.get("finish_reason")
    if isinstance(finish, Mapping) and finish.get("type") == "abort":
        status = finish.get("status_code")
        again = not isinstance(status, int) or status >= 500 or status in _LATER
        raise AttemptFailed(
            f"the server gave the request up: {finish.get('message') or 'it does not say why'}", again=again
        )
    if meta.get("prompt_tokens") != tokens:
        raise AttemptFailed(f"the server ran {meta.get('prompt_tokens')} tokens instead of its {tokens}", again=False)
    if meta.get("num_retractions"):
        raise AttemptFailed("the server took the request back and ran it again, for want of memory", again=True)
    if meta.get("cached_tokens"):
        reason = (
            f"{meta['cached_tokens']} of its {tokens} tokens were cached and have no states (--disable-radix-cache)"
        )
        raise AttemptFailed(reason, again=False)
    return meta


def states_of(meta: Mapping[str, Any], layers: int) -> Received:
    """Return the states that a reply carries, as bf16; AttemptFailed when they are short, ragged or not bf16."""
    import numpy as np

    blocks = meta.get("hidden_states")
    if not isinstance(blocks, list) or not blocks or not isinstance(blocks[0], list):
        raise AttemptFailed("the server's answer has no hidden states (--enable-return-aux-hidden-states)", again=False)
    try:
        rows_LKH = np.array(blocks[0], "<f4")
    except (TypeError, ValueError) as error:
        raise AttemptFailed(f"the server's hidden states are no rows of numbers: {error}", again=False) from error
    tokens = meta["prompt_tokens"]
    if rows_LKH.ndim != 2 or len(rows_LKH) != tokens or rows_LKH.shape[1] % layers:
        reason = (
            f"hidden states {rows_LKH.shape} came for {tokens} tokens and {layers} layers (--chunked-prefill-size -1)"
        )
        raise AttemptFailed(reason, again=False)
    bits = rows_LKH.view("<u4")
    if (bits & _LOW_HALF).any():
        raise AttemptFailed("the server's hidden states are not bf16 (--dtype bfloat16)", again=False)
    halves = (bits >> 16).astype("<u2").reshape(tokens, layers, -1)
    split = tuple(np.ascontiguousarray(halves[:, layer]) for layer in range(layers))
    return Received(token_ids=None, cached=int(meta.get("cached_tokens") or 0), layers=split)
