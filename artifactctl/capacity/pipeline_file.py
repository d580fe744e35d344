"""Reads the stages of a pipeline from the content of one TOML file.

    volume = "scratch"                 # default of every stage

    [[stage]]
    name = "states"
    kind = "extraction"                # extraction | training | other
    tokens = "87.8M"                   # or corpus = "NAME"
    model = "kimi-k2.5"                # preset or config.json
    layers = "2,30,58"

    [[stage]]
    name = "draft"
    kind = "training"
    draft_params = "2.6B"
    keep = 3
    duration = "40h"                   # where no finished run tells
    frees = ["states"]                 # removed when this stage has finished

    [[stage]]
    name = "logs"
    kind = "other"
    writes = "20GiB"
    staging = "4GiB"
    staging_volume = "/dev/shm"

Unknown keys are refused with the place and the closest known one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NoReturn

from artifactctl.capacity.calibration import Basis, FinishedRun
from artifactctl.capacity.demand import Demand, StagingElsewhere, other_demand
from artifactctl.capacity.growth import steady_growth
from artifactctl.capacity.plans import ExtractionRequest, TrainingRequest, demand_of_extraction, demand_of_training
from artifactctl.capacity.presets import DEFAULT_PRESET, ModelShape, preset
from artifactctl.capacity.recipes import Codec, ElementType, ExtractionRecipe, FinalState, parse_element_type
from artifactctl.capacity.timeline import PipelineStage
from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import parse_duration, parse_layers, parse_parameters, parse_size, parse_tokens
from artifactctl.domain.suggestions import did_you_mean

_EVERY_STAGE = ("name", "kind", "volume", "duration", "frees", "staging", "staging_volume")
_KEYS = {
    "extraction": ("tokens", "corpus", "model", "layers", "final_state", "dtype", "codec"),
    "training": ("draft_params", "keep", "tokens"),
    "other": ("writes",),
}
_DEFAULT_KEEP = 3


def _unknown_corpus(name: str) -> int:
    raise UsageError(f"the tokens of the corpus `{name}` are not known here", remedy='write tokens = "87.8M" instead')


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineWorld:
    """What the file refers to: finished runs, the tokens of a corpus by name, the shape of a model by name or path."""

    runs: tuple[FinishedRun, ...] = ()
    tokens_of: Callable[[str], int] = _unknown_corpus
    shape_of: Callable[[str], ModelShape] = preset


NOTHING_KNOWN = PipelineWorld()


def parse_pipeline(
    document: Mapping[str, object], *, source: str, world: PipelineWorld = NOTHING_KNOWN
) -> tuple[PipelineStage, ...]:
    """Return the stages that a parsed TOML document describes; `source` is what messages call the file."""
    _refuse_unknown(document, ("volume", "stage"), place=source)
    tables = document.get("stage", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{source}: there are no stages", remedy="add at least one [[stage]] table")
    default_volume = document.get("volume", "")
    return tuple(
        _Table(table, place=f"{source}: stage {number}", default_volume=default_volume).stage(world)
        for number, table in enumerate(tables, 1)
    )


class _Table:
    """One [[stage]] table; every read names the place when it has to refuse."""

    def __init__(self, table: Mapping[str, object], *, place: str, default_volume: object) -> None:
        self._table = table
        self._default_volume = default_volume
        name = table.get("name")
        self._place = f"{place} (`{name}`)" if isinstance(name, str) else place

    def stage(self, world: PipelineWorld) -> PipelineStage:
        kind = self._text("kind", "")
        if kind not in _KEYS:
            self._refuse(f"`{kind}` is not a kind of stage", did_you_mean(kind, _KEYS))
        _refuse_unknown(self._table, (*_EVERY_STAGE, *_KEYS[kind]), place=self._place)
        volume = self._text("volume", self._default_volume)
        if not volume:
            self._refuse("the stage has no volume", 'add volume = "NAME" to the stage or at the top of the file')
        try:
            demand, basis, note = self._demand(kind, world)
        except UsageError as refusal:
            if refusal.message.startswith(self._place):
                raise
            raise UsageError(f"{self._place}: {refusal.message}", remedy=refusal.remedy) from refusal
        return PipelineStage(
            name=self._text("name", kind),
            volume=volume,
            demand=demand,
            frees=self._texts("frees"),
            basis=basis,
            basis_note=note,
        )

    def _demand(self, kind: str, world: PipelineWorld) -> tuple[Demand, Basis, str]:
        staging_bytes = parse_size(self._text("staging", "0B"))
        elsewhere = self._text("staging_volume", "")
        here_bytes = 0 if elsewhere else staging_bytes
        demand, basis, note = self._demand_of_kind(kind, here_bytes, world)
        if elsewhere:
            demand = replace(demand, elsewhere=(StagingElsewhere(volume=elsewhere, staging_bytes=staging_bytes),))
        if "duration" in self._table:
            duration = self._duration()
            demand = replace(demand, duration=duration, growth=steady_growth(demand.peak_bytes, duration))
        return demand, basis, note

    def _demand_of_kind(self, kind: str, staging_bytes: int, world: PipelineWorld) -> tuple[Demand, Basis, str]:
        if kind == "extraction":
            request = ExtractionRequest(
                recipe=self._recipe(world), tokens=self._stated_tokens(world), staging_bytes=staging_bytes
            )
            return demand_of_extraction(request, runs=world.runs)
        if kind == "training":
            training = TrainingRequest(
                draft_parameters=parse_parameters(self._text("draft_params", "")),
                keep=self._count("keep", _DEFAULT_KEEP),
                tokens=self._tokens() if "tokens" in self._table else None,
                staging_bytes=staging_bytes,
            )
            return demand_of_training(training, runs=world.runs)
        writes_bytes = parse_size(self._text("writes", ""))
        name = self._text("name", kind)
        return (
            other_demand(name=name, writes_bytes=writes_bytes, staging_bytes=staging_bytes),
            Basis.ASSUMED,
            "as stated",
        )

    def _recipe(self, world: PipelineWorld) -> ExtractionRecipe:
        shape = world.shape_of(self._text("model", DEFAULT_PRESET))
        return ExtractionRecipe(
            shape=shape,
            layers=self._layers() if "layers" in self._table else shape.default_boundaries,
            final_state=FinalState(self._choice("final_state", FinalState.NONE, list(FinalState))),
            element=parse_element_type(self._text("dtype", ElementType.BF16)),
            codec=Codec(self._choice("codec", Codec.NONE, list(Codec))),
        )

    def _stated_tokens(self, world: PipelineWorld) -> int:
        if ("tokens" in self._table) == ("corpus" in self._table):
            self._refuse("an extraction needs either tokens or a corpus", 'add tokens = "87.8M" or corpus = "NAME"')
        return self._tokens() if "tokens" in self._table else world.tokens_of(self._text("corpus", ""))

    def _tokens(self) -> int:
        value = self._table["tokens"]
        return parse_tokens(str(value)) if _is_count(value) else parse_tokens(self._text("tokens", ""))

    def _layers(self) -> tuple[int, ...]:
        value = self._table["layers"]
        if isinstance(value, list) and all(_is_count(entry) for entry in value):
            return parse_layers(",".join(str(entry) for entry in value))
        return parse_layers(self._text("layers", ""))

    def _duration(self) -> timedelta:
        return parse_duration(self._text("duration", ""))

    def _choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        value = self._text(key, default)
        if value not in choices:
            self._refuse(f"`{value}` is not a value of `{key}`", did_you_mean(value, choices))
        return value

    def _count(self, key: str, default: int) -> int:
        value = self._table.get(key, default)
        if not isinstance(value, int) or not _is_count(value):
            self._refuse(f"`{key}` is not a whole number", f"write {key} = {default}")
        return value

    def _text(self, key: str, default: object) -> str:
        value = self._table.get(key, default)
        if not isinstance(value, str):
            self._refuse(f"`{key}` is not text", f'write {key} = "…", in quotes')
        return value

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            self._refuse(f"`{key}` is not a list of names", f'write {key} = ["NAME"]')
        return tuple(str(entry) for entry in value)

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise UsageError(f"{self._place}: {what}", remedy=remedy)


def _refuse_unknown(table: Mapping[str, object], known: Iterable[str], *, place: str) -> None:
    for key in table:
        if key not in set(known):
            raise UsageError(f"{place}: unknown key `{key}`", remedy=did_you_mean(key, known))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
