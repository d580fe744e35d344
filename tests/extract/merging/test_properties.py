"""What holds for every merge: counts reconcile, the seed alone decides the order, the mask is exactly the answers."""

import hashlib
import itertools
import re
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extract.merging.tokenization import CorpusTokenizer
from tests.extract.merging.merged import merged, read_corpus
from tests.extract.texts import json_lines, openai, sharegpt

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", " ", "\n\nindented", "trailing \n", "1234 5", "日本 é😀", "don't  stop", "a\r\nb", "<|im_end|>"]
    ),
)
TURNS = st.tuples(TEXTS, TEXTS)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": draw(TEXTS)}] if draw(st.booleans()) else []
    for question, answer in draw(st.lists(TURNS, min_size=1, max_size=3)):
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return messages


LINES = st.one_of(
    st.builds(openai, conversations()).map(lambda record: json_lines([record])),
    st.builds(sharegpt, conversations()).map(lambda record: json_lines([record])),
    st.sampled_from(
        [b"{torn\n", b"[1]\n", b'{"a": 1}\n', b"\n", b'{"messages": []}\n', b'{"messages": [{"role": 1}]}\n']
    ),
    st.lists(st.integers(0, 9), min_size=1, max_size=5).map(
        lambda ids: json_lines([{"input_ids": ids, "loss_mask": [i % 2 for i in ids]}])
    ),
)
SLOW = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
REAL = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
# What comes before its answer takes 20 tokens, one a byte or mark: with 40 there is always something to learn.
GOOD = json_lines(
    [openai([{"role": "user", "content": "q"}, {"role": "assistant", "content": "an answer of some length"}])]
)


def files_of(folder: Path, parts: list[list[bytes]]) -> list[Path]:
    paths = [folder / f"{number}.jsonl" for number in range(len(parts))]
    for path, lines in zip(paths, parts, strict=True):
        path.write_bytes(b"".join(lines))
    return paths


@SLOW
@given(
    parts=st.lists(st.lists(LINES, max_size=8), min_size=1, max_size=3),
    seed=st.integers(-(2**63), 2**63 - 1),
    max_tokens=st.one_of(st.none(), st.integers(40, 120)),
)
def test_every_record_read_is_kept_or_dropped_for_one_reason(
    tiny: CorpusTokenizer, parts: list[list[bytes]], seed: int, max_tokens: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = files_of(Path(folder), [[GOOD * 2], *parts])

        merged(Path(folder) / "corpus", paths, tiny, seed=seed, max_tokens=max_tokens)

        corpus = read_corpus(Path(folder) / "corpus")
    sources = corpus.manifest["merge"]["sources"]
    for source, lines in zip(sources, [[GOOD * 2], *parts], strict=True):
        assert source["read"] == sum(bool(line.strip()) for line in b"".join(lines).split(b"\n"))
        assert source["read"] == source["kept"] + sum(source["dropped"].values())
    assert sum(source["kept"] for source in sources) == len(corpus.records) == len(corpus.readable)
    assert Counter(corpus.tensors["sources"].tolist()) == Counter(
        {number: source["kept"] for number, source in enumerate(sources) if source["kept"]}
    )
    assert sources[0]["dropped"]["duplicate"] == 1
    assert len({tuple(ids) for ids, _ in corpus.records}) == len(corpus.records)
    assert all(max_tokens is None or len(ids) <= max_tokens for ids, _ in corpus.records)


@SLOW
@given(lines=st.lists(LINES, min_size=1, max_size=12), cuts=st.sets(st.integers(1, 11)), seed=st.integers(0, 99))
def test_the_order_depends_on_the_seed_and_not_on_how_records_are_spread_over_files(
    tiny: CorpusTokenizer, lines: list[bytes], cuts: set[int], seed: int
) -> None:
    bounds = [0, *sorted(cut for cut in cuts if cut < len(lines)), len(lines)]
    parts = [lines[begin:end] for begin, end in itertools.pairwise(bounds)]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "many"):
            (Path(folder) / name).mkdir()
        one = files_of(Path(folder) / "one", [[*lines, GOOD]])
        many = files_of(Path(folder) / "many", [*parts, [GOOD]])

        merged(Path(folder) / "a", one, tiny, seed=seed)
        merged(Path(folder) / "b", many, tiny, seed=seed)

        assert read_corpus(Path(folder) / "a").records == read_corpus(Path(folder) / "b").records


def test_another_seed_gives_another_order_of_the_same_records(tmp_path: Path, tiny: CorpusTokenizer) -> None:
    lines = [
        json_lines([openai([{"role": "user", "content": "q"}, {"role": "assistant", "content": str(number)}])])
        for number in range(50)
    ]
    (paths,) = [files_of(tmp_path, [lines])]

    for seed in (1, 2):
        merged(tmp_path / f"corpus-{seed}", paths, tiny, seed=seed)

    first, second = (read_corpus(tmp_path / f"corpus-{seed}").records for seed in (1, 2))
    assert first != second
    assert sorted(first) == sorted(second)
    assert first != sorted(first)


def test_the_content_key_is_the_hash_of_the_token_ids(tmp_path: Path, tiny: CorpusTokenizer) -> None:
    merged(tmp_path / "corpus", files_of(tmp_path, [[GOOD]]), tiny)

    corpus = read_corpus(tmp_path / "corpus")
    ((ids, _mask),) = corpus.records
    key = hashlib.sha256(b"".join(token.to_bytes(4, "little") for token in ids)).digest()
    assert corpus.tensors["content_keys"].tobytes() == key
    assert corpus.readable[0]["content_key"] == key.hex()


ANSWER = re.compile(rb"<\|im_start\|>assistant\n(.*?<\|im_end\|>)", re.DOTALL)
BYTE_OF_CHARACTER = {
    character: byte
    for byte, character in enumerate(
        chr(byte) if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174 else "" for byte in range(256)
    )
    if character
}
BYTE_OF_CHARACTER |= {
    chr(256 + number): byte
    for number, byte in enumerate(byte for byte in range(256) if byte not in BYTE_OF_CHARACTER.values())
}


def mask_by_bytes(tokenizer: CorpusTokenizer, ids: list[int]) -> list[int]:
    """Compute the mask from the tokens' own bytes: no offsets, no template, no prefixes."""
    pieces = []
    for token in ids:
        text = tokenizer.library.id_to_token(token)
        marked = text.startswith("<|") and text.endswith("|>")
        pieces.append(text.encode() if marked else bytes(BYTE_OF_CHARACTER[character] for character in text))
    whole = b"".join(pieces)
    answers = [match.span(1) for match in ANSWER.finditer(whole)]
    mask, at = [], 0
    for piece in pieces:
        inside = any(begin <= at and at + len(piece) <= end for begin, end in answers)
        mask.append(int(inside))
        at += len(piece)
    return mask


PLAIN = st.one_of(
    st.text(max_size=40).filter(lambda text: "<|" not in text),
    st.sampled_from(["\n\nindented", "trailing \n", "1234 5", "日本 é😀", "don't  stop", "\tx = 1\n"]),
)


@pytest.mark.parametrize("which", ["tiny", "smollm"])
@REAL
@given(turns=st.lists(st.tuples(PLAIN, PLAIN.filter(str.strip)), min_size=1, max_size=3))
def test_the_loss_mask_covers_exactly_what_the_assistant_said(
    request: pytest.FixtureRequest, which: str, turns: list[tuple[str, str]]
) -> None:
    tokenizer: CorpusTokenizer = request.getfixturevalue(which)
    messages = [
        {"role": role, "content": text}
        for question, answer in turns
        for role, text in (("user", question), ("assistant", answer))
    ]
    with tempfile.TemporaryDirectory() as folder:
        merged(Path(folder) / "corpus", files_of(Path(folder), [[json_lines([openai(messages)])]]), tokenizer)

        ((ids, mask),) = read_corpus(Path(folder) / "corpus").records

    assert mask == mask_by_bytes(tokenizer, ids)
    assert sum(mask) >= len(turns)
