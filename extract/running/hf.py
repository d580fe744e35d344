"""The engine `hf`: transformers in this process, on a GPU or the CPU. The reference that others are compared with.

States are taken where they pass by: boundary i < n is what goes into block i, boundary n what goes into the final norm,
which is also the final state before it. (The last of transformers' own `hidden_states` is after the norm.)

Shape suffixes: B records of a batch, L tokens of the longest one in it.
"""

from collections.abc import Iterator, Sequence

from artifactctl.api.admission import ExtractionRecipe
from artifactctl.api.formats import ElementType
from extract.requirements import need
from extract.running.capturing import FINAL, Capture
from extract.running.engine import Computed, CorpusRecord, EngineFacts, EngineRequest, Outcome
from extract.running.hf_model import LoadedModel, load
from extract.running.weights import weights_revision
from extract.shards.records import token_hash
from extract.shards.tensors import states_as_bits

GPU_BATCH_TOKENS = 8192


def open_engine(request: EngineRequest) -> "HfEngine":
    """Load the model; UsageError when that cannot be done, or it has no such layers."""
    loaded = load(request.model, device=request.device, dtype=request.dtype)
    recipe = ExtractionRecipe(  # refuses what makes no sense
        shape=loaded.shape, layers=request.layers or loaded.shape.default_boundaries, final_state=request.final_state
    )
    batch_tokens = request.batch_tokens or (GPU_BATCH_TOKENS if loaded.device.type == "cuda" else 1)
    facts = EngineFacts(
        name="hf",
        versions={name: need(name, purpose="computing").__version__ for name in ("torch", "transformers")},
        model=request.model.name,
        model_revision=weights_revision(request.model),
        hidden_size=loaded.shape.hidden_size,
        blocks=loaded.shape.layers,
        vocabulary=loaded.shape.vocab_size or 0,
        layers=recipe.layers,
        final_state=recipe.final_state,
        computed_in=loaded.computed_in,
    )
    return HfEngine(loaded, facts, batch_tokens=batch_tokens)


class HfEngine:
    """Computes records in order; those of a batch are padded on the right, where a causal model does not look.

    A batch holds at most `batch_tokens`, padding included, and at least one record.
    """

    def __init__(self, loaded: LoadedModel, facts: EngineFacts, *, batch_tokens: int) -> None:
        self._loaded = loaded
        self._batch_tokens = batch_tokens
        self.facts = facts

    def compute(self, records: Iterator[CorpusRecord]) -> Iterator[Outcome]:
        """Yield the states of each record, in order."""
        batch: list[CorpusRecord] = []
        for record in records:
            longest = max((each.tokens for each in batch), default=0)
            if batch and max(longest, record.tokens) * (len(batch) + 1) > self._batch_tokens:
                yield from self._forward(batch)
                batch = []
            batch.append(record)
            if len(batch) * max(each.tokens for each in batch) >= self._batch_tokens:
                yield from self._forward(batch)
                batch = []
        if batch:
            yield from self._forward(batch)

    def close(self) -> None:
        """Let the model go."""
        del self._loaded

    def _capture(self) -> Capture:
        return Capture(self._loaded, layers=self.facts.layers, final_state=self.facts.final_state)

    def _forward(self, batch: Sequence[CorpusRecord]) -> Iterator[Outcome]:
        torch = need("torch", purpose="computing hidden states")
        longest = max(record.tokens for record in batch)
        ids_BL = torch.zeros((len(batch), longest), dtype=torch.int64)
        mask_BL = torch.zeros_like(ids_BL)
        for row, record in enumerate(batch):
            ids_BL[row, : record.tokens] = torch.from_numpy(record.token_ids)
            mask_BL[row, : record.tokens] = 1
        padding = {} if len(batch) == 1 else {"attention_mask": mask_BL.to(self._loaded.device)}
        with torch.inference_mode(), self._capture() as taken:
            self._loaded.body(input_ids=ids_BL.to(self._loaded.device), use_cache=False, **padding)
            states = {boundary: tensor.to("cpu") for boundary, tensor in taken.items()}
        for row, record in enumerate(batch):
            bits = {
                boundary: states_as_bits(tensor[row, : record.tokens], ElementType.BF16)
                for boundary, tensor in states.items()
            }
            yield Computed(
                index=record.index,
                token_hash=token_hash(ids_BL[row, : record.tokens].numpy()),
                layers=tuple(bits[layer] for layer in self.facts.layers),
                final=bits.get(FINAL),
            )
