"""A byte-pair tokenizer from the metadata of a GGUF file, as the model was trained with it.

Why not through transformers: it loads torch for this, and its conversion ignores `tokenizer.ggml.pre`, the rule by
which text is split before merging. The patterns are those of the models' own tokenizer.json files.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artifactctl.domain.errors import UsageError
from extract.requirements import need

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONTROL, USER_DEFINED = 3, 4
"""`tokenizer.ggml.token_type` of tokens that never come out of text by merging."""

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_AROUND = (r"[^\r\n\p{L}\p{N}]?\p{L}+", r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
_LLAMA_3 = "|".join((_CONTRACTIONS, _AROUND[0], r"\p{N}{1,3}", _AROUND[1]))
_QWEN_2 = "|".join((_CONTRACTIONS, _AROUND[0], r"\p{N}", _AROUND[1]))
_PATTERNS = {"llama-bpe": _LLAMA_3, "llama3": _LLAMA_3, "qwen2": _QWEN_2}
KNOWN = ("gpt-2", "smollm", *_PATTERNS)


def tokenizer_of_gguf(metadata: Mapping[str, Any], path: Path) -> "Tokenizer":
    """Return the tokenizer; UsageError when it is of a kind that is not known here."""
    library = need("tokenizers", purpose="applying a tokenizer")
    model, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "gpt-2")
    if model != "gpt2" or pre not in KNOWN:
        raise UsageError(
            f"{path} has a tokenizer of kind {model}/{pre}, and only gpt2 with {', '.join(KNOWN)} is known",
            remedy="give the model's folder with tokenizer.json instead",
        )
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    kinds: list[int] = metadata.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    merges = [tuple(pair.split(" ", 1)) for pair in metadata["tokenizer.ggml.merges"]]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    made = library.Tokenizer(
        library.models.BPE(vocab=vocabulary, merges=merges, ignore_merges=pre in ("llama-bpe", "llama3"))
    )
    made.pre_tokenizer = _pre_tokenizer(library, pre)
    made.decoder = library.decoders.ByteLevel()
    added = [
        library.AddedToken(token, special=kind == CONTROL, normalized=False)
        for token, kind in zip(tokens, kinds, strict=True)
        if kind in (CONTROL, USER_DEFINED)
    ]
    made.add_tokens(added)
    return made  # type: ignore[no-any-return]  # imported by name


def _pre_tokenizer(library: Any, pre: str) -> Any:
    splitting = library.pre_tokenizers
    if pre in _PATTERNS:
        split = splitting.Split(library.Regex(_PATTERNS[pre]), behavior="isolated")
        return splitting.Sequence([split, splitting.ByteLevel(add_prefix_space=False, use_regex=False)])
    words = splitting.ByteLevel(add_prefix_space=False, use_regex=True)
    if pre == "smollm":
        return splitting.Sequence([splitting.Digits(individual_digits=True), words])
    return words
