"""What computes hidden states, as the runner sees it: facts about itself, and records in, states out.

An engine does not check what comes out, does not retry, does not write: the runner does, the same way for all
(`checking`). It draws a record when it has room for one, so that a runner that stops taking results stops the engine.

Shape suffixes: L tokens of one record, H hidden size.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from artifactctl.api.formats import ElementType, FinalState
from extract.credentials import NO_KEY, Key
from extract.shards.form import StatesForm

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """What a person asked an engine for. `layers` None means the usual three of the model.

    `servers`, `via` and their `key` are for engines elsewhere. `device`, `dtype` (of the forward pass) and
    `batch_tokens` are for those that load the model; "auto" and 0 leave it to the engine.
    """

    model: Path
    layers: tuple[int, ...] | None = None
    final_state: FinalState = FinalState.NONE
    servers: tuple[str, ...] = ()
    via: str = "hook"
    key: Key = NO_KEY
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What an engine computes with, as it found it, not as it was asked to.

    `versions` names the libraries that decide the numbers. `model` is how a person finds the model, `model_revision`
    what identifies its weights. `layers` are hidden-state boundaries as Hugging Face counts them, ascending: 0 the
    embeddings, i the output of block i - 1, `blocks` that of the last block before the final norm. `convention` says
    which ids the engine itself was given for them. `computed_in` is the element type of the forward pass, `element`
    that of the states that come out.
    """

    name: str
    versions: Mapping[str, str]
    model: str
    model_revision: str
    hidden_size: int
    blocks: int
    vocabulary: int
    layers: tuple[int, ...]
    final_state: FinalState
    computed_in: str
    element: ElementType = ElementType.BF16
    convention: str = "Hugging Face boundaries"

    @property
    def form(self) -> StatesForm:
        """What a row of states consists of."""
        return StatesForm(
            hidden_size=self.hidden_size,
            captured=len(self.layers),
            layers=self.layers,
            final_state=self.final_state,
            element=self.element,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorpusRecord:
    """A record to compute: its number in the corpus, its content key, `token_ids` int64 [L]."""

    index: int
    content_key: bytes
    token_ids: "NDArray[Any]"

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return len(self.token_ids)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Computed:
    """The states of one record, as bit patterns (uint16 for bf16): [L, H] for each layer, ascending, and the final one.

    `token_hash` is `shards.records.token_hash` of the ids that the engine really ran, not a copy of the record's key.
    """

    index: int
    token_hash: bytes
    layers: "tuple[NDArray[Any], ...]"
    final: "NDArray[Any] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unable:
    """A record that the engine could not compute, and why; the others go on."""

    index: int
    reason: str
    details: Mapping[str, str] = field(default_factory=dict)


Outcome = Computed | Unable


class Engine(Protocol):
    """Computes hidden states; made by a function that refuses (UsageError, Refused) what it cannot serve."""

    @property
    def facts(self) -> EngineFacts:
        """What it computes with."""
        ...

    def compute(self, records: Iterator[CorpusRecord]) -> Iterator[Outcome]:
        """Yield one outcome for each record, in any order, until all are drawn and done.

        The runner may close the iterator early, and then call this again with other records. An error that concerns
        more than one record is raised: Refused or CheckFailed where somebody has to do something about it.
        """
        ...

    def close(self) -> None:
        """Give back what it holds: the model's memory, connections, spools."""
        ...


OpenEngine = Callable[[EngineRequest], Engine]
"""How an engine is made; UsageError or Refused for what it cannot serve."""
