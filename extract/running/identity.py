"""What decides the content of a run: runs that differ in it never mix."""

from artifactctl.api.admission import ExtractionRecipe, ModelShape
from artifactctl.api.formats import Codec
from extract.running.corpus import Corpus
from extract.running.engine import EngineFacts
from extract.shards.fingerprint import RunFingerprint


def fingerprint_of(corpus: Corpus, facts: EngineFacts, codec: Codec) -> RunFingerprint:
    """Return the fingerprint of a run."""
    return RunFingerprint(
        corpus=corpus.digest,
        tokenizer=corpus.tokenizer_digest,
        template=corpus.template_digest,
        model=facts.model,
        model_revision=facts.model_revision,
        layers=",".join(map(str, facts.layers)),
        norm=facts.final_state.value,
        dtype=facts.element.value,
        codec=codec.value,
        engine=f"{facts.name}, computed in {facts.computed_in}",
    )


def recipe_of(facts: EngineFacts, codec: Codec) -> ExtractionRecipe:
    """Return the recipe that the planner knows the run by."""
    shape = ModelShape(
        name=facts.model, hidden_size=facts.hidden_size, layers=facts.blocks, vocab_size=facts.vocabulary or None
    )
    return ExtractionRecipe(
        shape=shape, layers=facts.layers, final_state=facts.final_state, element=facts.element, codec=codec
    )


def labels_of(facts: EngineFacts, codec: Codec) -> dict[str, str]:
    """Return what the catalog shows of it, and the planner learns from."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(facts.versions.items()))
    return {
        "model": facts.model,
        "model_shape": recipe_of(facts, codec).shape.key,
        "layers": ",".join(map(str, facts.layers)),
        "final_state": facts.final_state.value,
        "dtype": facts.element.value,
        "codec": codec.value,
        "engine": f"{facts.name} ({versions}), computed in {facts.computed_in}",
        "layer_ids": facts.convention,
    }
