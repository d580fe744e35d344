"""How large the story is told: as it happened, or a hundred thousand times smaller."""

from dataclasses import dataclass

SHARDS = 231
LAYERS = (2, 30, 58)
CHANNELS = 7168
CHANNEL_BYTES = 2  # bf16
RESPONSE_SETS = ("A1", "A2", *(f"B{number}" for number in range(1, 9)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The inputs of the story. `corpus_tokens` is as `register --tokens` takes it.

    `used_bytes`: what df shall call used on the volume before anything is removed; None leaves it as it is.
    """

    tokens_per_shard: int
    corpus_tokens: str
    records: int
    old_records: int
    used_bytes: int | None


AS_IT_HAPPENED = Scale(
    # 231 x 99,854 tokens are 923.90 GiB: du rounds up to 924G, with room for headers and folder.
    tokens_per_shard=99_854,
    corpus_tokens="87.8M",
    records=37_312,
    old_records=9_804,
    # df rounds this up to 1021G, also with the tool's own files on the volume (some 60 MiB of journal and ballast), and
    # what is left without the hidden states, 97.01 GiB and more, to 98G.
    used_bytes=int(1020.91 * 1024**3),
)
A_HUNDRED_THOUSANDTH = Scale(
    tokens_per_shard=1,
    corpus_tokens="878",
    records=373,
    old_records=98,
    used_bytes=None,
)
