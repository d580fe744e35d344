"""The formats that `extract` and `train` write and artifactctl recognises; all of it pure.

Importing this loads neither numpy nor a database; the codec imports numpy when it is used.
"""

from artifactctl.capacity.recipes import Codec, ElementType, FinalState
from artifactctl.codecs.planes import BrokenBlock, PlanesDecoder, PlanesEncoder, largest_block_bytes
from artifactctl.recognition.manifests import MANIFEST_NAME, MANIFEST_SCHEMA
from artifactctl.recognition.packed_shards import BLOCKS, FORMAT, PLANES, STATES
from artifactctl.recognition.safetensors_header import SafetensorsHeader, TensorSpec, TornHeader, read_header

__all__ = [
    "BLOCKS",
    "FORMAT",
    "MANIFEST_NAME",
    "MANIFEST_SCHEMA",
    "PLANES",
    "STATES",
    "BrokenBlock",
    "Codec",
    "ElementType",
    "FinalState",
    "PlanesDecoder",
    "PlanesEncoder",
    "SafetensorsHeader",
    "TensorSpec",
    "TornHeader",
    "largest_block_bytes",
    "read_header",
]
