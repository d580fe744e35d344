"""What a model's file says of itself, as the planner and the stages read it alike."""

from artifactctl.configuration.gguf_metadata import read_gguf_metadata

__all__ = ["read_gguf_metadata"]
