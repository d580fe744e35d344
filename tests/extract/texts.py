"""Conversations made up from a few words, the same for the same seed: a corpus that needs no download."""

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_SUBJECTS = [
    "the lamp",
    "a river",
    "our crew",
    "the old map",
    "this shard",
    "a quiet engine",
    "the second harbour",
    "her notebook",
]
_VERBS = ["holds", "turns", "forgets", "measures", "carries", "mends", "outlasts", "follows"]
_OBJECTS = [
    "12 stones",
    "the north wind",
    "a café's ledger",
    "nothing at all",
    "three keys",
    "the tide",
    "an éclair",
    "日本の地図",
]
_ASIDES = ("Why is that?", "Please go on.", "In one line, then.", "And after 2026?", "def f(x):\n    return x + 1")


def sentences(rng: random.Random, count: int) -> str:
    """Return so many sentences."""
    made = (f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}" for _ in range(count))
    return " ".join(f"{sentence.capitalize()}." for sentence in made)


def conversation(rng: random.Random) -> list[dict[str, str]]:
    """Return one to three turns of each side, some with a system message."""
    messages = [{"role": "system", "content": "Answer briefly."}] if rng.random() < 0.3 else []
    for _ in range(rng.randint(1, 3)):
        messages.append({"role": "user", "content": f"{sentences(rng, 1)} {rng.choice(_ASIDES)}"})
        messages.append({"role": "assistant", "content": sentences(rng, rng.randint(1, 4))})
    return messages


def openai(messages: list[dict[str, str]]) -> dict[str, Any]:
    """Return a record with `messages`."""
    return {"messages": messages}


def sharegpt(messages: list[dict[str, str]]) -> dict[str, Any]:
    """Return a record with `conversations`."""
    speakers = {"user": "human", "assistant": "gpt", "system": "system"}
    return {"conversations": [{"from": speakers[m["role"]], "value": m["content"]} for m in messages]}


def some_conversations(count: int, *, seed: int) -> list[list[dict[str, str]]]:
    """Return so many conversations, all different."""
    rng = random.Random(seed)
    made: dict[str, list[dict[str, str]]] = {}
    while len(made) < count:
        messages = conversation(rng)
        made[json.dumps(messages)] = messages
    return list(made.values())


def json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the records as JSON lines."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """Write the records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json_lines(records))
    return path
