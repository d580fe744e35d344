"""The tokenizer of a corpus, from a model's folder or GGUF file, with its chat template and what identifies both."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artifactctl.api.models import read_gguf_metadata
from artifactctl.domain.errors import UsageError
from extract.merging.byte_pairs import tokenizer_of_gguf
from extract.requirements import need

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SPECIAL = ("bos", "eos", "unk", "pad")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusTokenizer:
    """A tokenizer and what goes with it.

    `digest` is the SHA-256 of what determines its ids. `template` is the text of the chat template, "" without one,
    `special` what the template is told (`bos_token`, `eos_token`, ...). `target_vocabulary` is the width of the model's
    output, which may be padded beyond the tokens; it is that of the tokens where no model configuration is there.
    """

    path: Path
    library: "Tokenizer"
    digest: str
    template: str
    special: Mapping[str, str]
    target_vocabulary: int
    marks: tuple[str, ...]

    def encode(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return (ids, character range of each) for each text; special tokens only where the text has them."""
        return [(each.ids, each.offsets) for each in self.library.encode_batch(texts, add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens included."""
        return self.library.decode(ids, skip_special_tokens=False)


def read_tokenizer(path: Path, *, template_file: Path | None = None) -> CorpusTokenizer:
    """Return the tokenizer in a folder (tokenizer.json) or GGUF file; UsageError when there is none that is known."""
    found = _of_folder(path) if path.is_dir() else _of_gguf(path)
    if template_file is None:
        return found
    return CorpusTokenizer(
        path=found.path,
        library=found.library,
        digest=found.digest,
        template=template_file.read_text(encoding="utf-8"),
        special=found.special,
        target_vocabulary=found.target_vocabulary,
        marks=found.marks,
    )


def _of_folder(folder: Path) -> CorpusTokenizer:
    library = need("tokenizers", purpose="applying a tokenizer")
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise UsageError(
            f"{folder} holds no tokenizer.json",
            remedy="write one with transformers (`AutoTokenizer.from_pretrained(...).save_pretrained(...)`)",
        )
    content = file.read_bytes()
    try:
        tokenizer = library.Tokenizer.from_buffer(content)
    except Exception as error:
        raise UsageError(f"{file} is no tokenizer: {error}", remedy="fetch it again") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    settings = _json(folder / "tokenizer_config.json")
    return _made(
        path=folder,
        tokenizer=tokenizer,
        digest=hashlib.sha256(content).hexdigest(),
        template=_template(folder, settings),
        special={f"{name}_token": _text(settings.get(f"{name}_token")) for name in _SPECIAL},
        model_vocabulary=_model_vocabulary(_json(folder / "config.json")),
    )


def _of_gguf(path: Path) -> CorpusTokenizer:
    if not path.is_file():
        raise UsageError(f"there is no tokenizer at {path}", remedy="give a model's folder or a GGUF file")
    metadata = read_gguf_metadata(path)
    tokenizer = tokenizer_of_gguf(metadata, path)
    tokens = metadata["tokenizer.ggml.tokens"]
    decisive = {key: value for key, value in metadata.items() if key.startswith("tokenizer.ggml.")}
    numbers = {f"{name}_token": metadata.get(f"tokenizer.ggml.{long}_token_id") for name, long in _GGUF_NAMES.items()}
    return _made(
        path=path,
        tokenizer=tokenizer,
        digest=hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest(),
        template=metadata.get("tokenizer.chat_template", ""),
        special={name: tokens[number] if number is not None else "" for name, number in numbers.items()},
        model_vocabulary=metadata.get(f"{metadata.get('general.architecture')}.vocab_size"),
    )


_GGUF_NAMES = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}


def _made(
    *,
    path: Path,
    tokenizer: "Tokenizer",
    digest: str,
    template: str,
    special: Mapping[str, str],
    model_vocabulary: int | None,
) -> CorpusTokenizer:
    added = tokenizer.get_added_tokens_decoder()
    tokens = max(tokenizer.get_vocab_size(with_added_tokens=True), max(added, default=-1) + 1)
    return CorpusTokenizer(
        path=path,
        library=tokenizer,
        digest=digest,
        template=template,
        special={name: token for name, token in special.items() if token},
        target_vocabulary=max(tokens, model_vocabulary or 0),
        marks=tuple(token.content for token in added.values()),
    )


def _template(folder: Path, settings: Mapping[str, Any]) -> str:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    said = settings.get("chat_template")
    if isinstance(said, list):
        named = {each.get("name"): each.get("template") for each in said if isinstance(each, dict)}
        said = named.get("default")
    return said if isinstance(said, str) else ""


def _model_vocabulary(configuration: Mapping[str, Any]) -> int | None:
    nested = configuration.get("text_config")
    size = (nested if isinstance(nested, dict) else configuration).get("vocab_size")
    return size if isinstance(size, int) else None


def _text(token: object) -> str:
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path} is no JSON", remedy="fetch it again") from error
    return content if isinstance(content, dict) else {}
