"""The draft against a decoder layer written out by hand, its names, and its keys and values."""

import pytest
import torch

from artifactctl.domain.errors import CheckFailed
from tests.train.tiny import DRAFT, HIDDEN, USED, VOCABULARY, tiny_config, tiny_draft
from train.draft import DraftConfig, DraftModel
from train.weights import read_draft, write_draft

SERVED = {
    "fc.weight",
    "norm.weight",
    "lm_head.weight",
    "t2d",
    "d2t",
    *(f"midlayer.{norm}.weight" for norm in ("input_layernorm", "hidden_norm", "post_attention_layernorm")),
    *(f"midlayer.self_attn.{side}_proj.weight" for side in "qkvo"),
    *(f"midlayer.mlp.{side}_proj.weight" for side in ("gate", "up", "down")),
}


def drawn(*shape: int, seed: int = 5) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_names_are_those_of_the_served_layout_and_the_embedding_is_not_among_them() -> None:
    assert set(tiny_draft().state_dict()) == SERVED


def test_parameters_are_counted_exactly_from_the_shape() -> None:
    model = tiny_draft()
    assert tiny_config().parameters == sum(parameter.numel() for parameter in model.parameters())


def test_the_map_says_the_tokens_of_the_target() -> None:
    model = tiny_draft()
    assert model.target_ids(torch.arange(DRAFT)).tolist() == list(USED)
    assert model.t2d.nonzero().flatten().tolist() == list(USED)


def test_a_step_is_one_decoder_layer_that_reads_embedding_and_state_side_by_side() -> None:
    model = tiny_draft()
    embedded, hidden = drawn(1, 5, HIDDEN), drawn(1, 5, HIDDEN, seed=6)
    step = model.step(embedded, hidden, positions_BL=torch.arange(5)[None])
    layer, attention = model.midlayer, model.midlayer.self_attn

    def rms(values: torch.Tensor) -> torch.Tensor:
        return values / (values.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()

    both = torch.cat((rms(embedded), rms(hidden)), dim=-1)[0]
    queries, keys, values = (projection(both) for projection in (attention.q_proj, attention.k_proj, attention.v_proj))

    def turned(head: torch.Tensor, position: int) -> torch.Tensor:
        """Each pair (c, c + 2) of the four channels, as a complex number, turned by its angle."""
        pairs = torch.complex(head[:2], head[2:])
        angles = torch.tensor([position * 10_000.0**0, position * 10_000.0**-0.5])
        pairs = pairs * torch.polar(torch.ones(2), angles)
        return torch.cat((pairs.real, pairs.imag))

    rows = []
    for at in range(5):
        heads = []
        for head in range(4):
            mine, theirs = slice(4 * head, 4 * head + 4), slice(4 * (head // 2), 4 * (head // 2) + 4)
            scores = torch.stack([turned(queries[at, mine], at) @ turned(keys[to, theirs], to) for to in range(at + 1)])
            heads.append((scores / 2).softmax(0) @ values[: at + 1, theirs])
        rows.append(attention.o_proj(torch.cat(heads)))
    expected = hidden + torch.stack(rows)
    expected = expected + layer.mlp.down_proj(
        torch.nn.functional.silu(layer.mlp.gate_proj(rms(expected))) * layer.mlp.up_proj(rms(expected))
    )

    torch.testing.assert_close(step.hidden, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(step.logits, model.lm_head(rms(expected)), rtol=1e-4, atol=1e-4)


def test_keys_of_before_give_what_all_at_once_gives() -> None:
    model = tiny_draft()
    embedded, hidden, positions = drawn(2, 9, HIDDEN), drawn(2, 9, HIDDEN, seed=6), torch.arange(9).expand(2, 9)
    whole = model.step(embedded, hidden, positions_BL=positions)
    first = model.step(embedded[:, :6], hidden[:, :6], positions_BL=positions[:, :6])
    second = model.step(embedded[:, 6:], hidden[:, 6:], positions_BL=positions[:, 6:], past=first.past)
    again = model.step(embedded[:, 6:], hidden[:, 6:], positions_BL=positions[:, 6:], past=whole.past.first(6))
    torch.testing.assert_close(torch.cat((first.logits, second.logits), 1), whole.logits)
    torch.testing.assert_close(again.logits, second.logits)


def test_a_mask_hides_columns() -> None:
    model = tiny_draft()
    embedded, hidden = drawn(1, 4, HIDDEN), drawn(1, 4, HIDDEN, seed=6)
    alone = torch.eye(4, dtype=torch.bool)[None]
    masked = model.step(embedded, hidden, positions_BL=torch.arange(4)[None], mask_BLT=alone)
    for at in range(4):
        single = model.step(embedded[:, at : at + 1], hidden[:, at : at + 1], positions_BL=torch.tensor([[at]]))
        torch.testing.assert_close(masked.logits[:, at], single.logits[:, 0])


def test_weights_come_back_in_bfloat16_with_their_map(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model = tiny_draft()
    write_draft(tmp_path, model.config, model.state_dict())
    back = read_draft(tmp_path, model.embed_tokens)
    assert back.config == model.config
    for name, tensor in back.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name].bfloat16().float() if "weight" in name else tensor)
    assert torch.equal(back.d2t, model.d2t)
    assert torch.equal(back.t2d, model.t2d)


@pytest.mark.parametrize("change", ["missing", "foreign"])
def test_weights_with_a_missing_or_a_foreign_name_are_an_error(tmp_path, change: str) -> None:  # type: ignore[no-untyped-def]
    model = tiny_draft()
    state = model.state_dict()
    if change == "missing":
        del state["midlayer.hidden_norm.weight"]
    else:
        state["midlayer.self_attn.q_proj.bias"] = torch.zeros(16)
    write_draft(tmp_path, model.config, state)
    with pytest.raises(CheckFailed, match=r"hidden_norm|bias"):
        read_draft(tmp_path, model.embed_tokens)


@pytest.mark.parametrize(
    "wrong", [{"key_value_heads": 3}, {"head_size": 3}, {"draft_vocabulary": VOCABULARY + 1}, {"layers": ()}]
)
def test_shapes_that_cannot_be_built_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"hidden_size=16|draft tokens"):
        DraftConfig(**{**tiny_config().as_json(), **wrong})  # type: ignore[arg-type]


def test_a_map_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="a map of 3 tokens"):
        DraftModel(tiny_config(), used=(1, 2, 3), embedding_VH=torch.zeros(VOCABULARY, HIDDEN))
