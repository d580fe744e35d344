"""What identifies the weights of a model on disk, without reading all of them."""

import hashlib
import os
from pathlib import Path

from artifactctl.domain.errors import UsageError
from extract.publishing import listed_names

_SAMPLE_BYTES = 2**20
_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
_SETTINGS = "config.json"


def weights_revision(model: Path) -> str:
    """Return a SHA-256 over the configuration and, of each weight file, name, size, and a MiB of both its ends.

    Hashing a model of half a terabyte would take longer than the probe of a run. Another quantisation, finetune or
    conversion differs in headers or ends; a deliberate change in the middle of a file would not be seen.
    """
    files = [model] if model.is_file() else [model / name for name in listed_names(model) if name.endswith(_SUFFIXES)]
    if not files:
        raise UsageError(f"{model} holds no weights", remedy="give a model's folder, or a GGUF file")
    digest = hashlib.sha256()
    settings = model / _SETTINGS
    if settings.is_file():
        digest.update(settings.read_bytes())
    for file in files:
        _add(digest, file)
    return digest.hexdigest()


def _add(digest: "hashlib._Hash", file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size_bytes = os.fstat(descriptor).st_size
        digest.update(f"{file.name}\0{size_bytes}\0".encode("utf-8", "surrogateescape"))
        digest.update(os.pread(descriptor, _SAMPLE_BYTES, 0))
        digest.update(os.pread(descriptor, _SAMPLE_BYTES, max(0, size_bytes - _SAMPLE_BYTES)))
    finally:
        os.close(descriptor)
