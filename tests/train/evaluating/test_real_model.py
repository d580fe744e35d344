"""Losslessness on a real language model, SmolLM2-135M-Instruct in float32."""

from pathlib import Path

from extract.merging.templates import ChatTemplate
from extract.merging.tokenization import CorpusTokenizer
from extract.running.hf_model import load
from tests.train.evaluating.foretelling import Foretelling
from train.evaluating.choosing import Greedy
from train.evaluating.decoding import decode_alone, decode_with_draft
from train.evaluating.running_target import RunningTarget

TOKENS, CHAIN = 16, 3
ASKED = "Write the alphabet, one letter a line."


def test_the_answer_of_a_real_model_is_its_own_wherever_the_draft_is_wrong(gguf: Path, smollm: CorpusTokenizer) -> None:
    template = ChatTemplate(smollm.template, special=smollm.special, marks=smollm.marks)
    ((prompt, _),) = smollm.encode([template.prompt([{"role": "user", "content": ASKED}], None)])
    target = RunningTarget(load(gguf, device="cpu", dtype="float32"), layers=(2, 15, 27), stops=frozenset({2}))
    own = decode_alone(target, prompt, choosing=Greedy(), most_tokens=TOKENS + CHAIN)

    for wrong_every in (2, 5):
        with_draft = decode_with_draft(
            target,
            Foretelling(own.ids, prompt, wrong_every=wrong_every),
            prompt,
            choosing=Greedy(),
            enough_tokens=TOKENS,
            chain=CHAIN,
        )
        assert with_draft.ids == own.ids[: len(with_draft.ids)]
        assert with_draft.passes < own.passes
    assert "a, b, c" in smollm.decode(own.ids)
