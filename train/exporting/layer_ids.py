"""How a server is told which states a draft reads: ids of the target's layers, which families of targets count apart.

A draft knows its layers as hidden-state boundaries (`extract.sglang.conventions`).
"""

from artifactctl.domain.errors import Refused
from extract.sglang.conventions import captured_boundaries, default_boundaries, stated_ids


def layer_ids_for(layers: tuple[int, ...], *, blocks: int, architecture: str) -> tuple[int, ...] | None:
    """Return the ids, None where the server's own choice is these layers and the family is not known; Refused."""
    if max(layers) >= blocks:
        raise Refused(
            f"the draft reads boundary {max(layers)} of a target of {blocks} blocks, which SGLang does not capture",
            remedy=f"extract with layers below {blocks}, such as {','.join(map(str, default_boundaries(blocks)))}",
        )
    ids = stated_ids(layers, blocks, [architecture])
    if ids is None and layers != default_boundaries(blocks):
        usual = ",".join(map(str, default_boundaries(blocks)))
        raise Refused(
            f"which ids make SGLang capture the boundaries {','.join(map(str, layers))} of a "
            f"{architecture or 'target of an unknown family'} is not known",
            remedy=f"extract and train with its usual layers, {usual}",
        )
    return ids


def layers_of(ids: tuple[int, ...] | None, *, blocks: int, architecture: str) -> tuple[int, ...]:
    """Return the boundaries that a server captures with these ids; UsageError where the family is not known."""
    return captured_boundaries(ids, blocks, [architecture])
