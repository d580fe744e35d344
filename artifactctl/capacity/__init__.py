"""Does the next stage fit, until when, and what is the cheapest thing to give up: pure arithmetic, no world of its own.

    recipe, layout  ->  demand     what a stage writes (recipes, demand), calibrated by finished runs (calibration)
    volume usage    ->  headroom   what may still be claimed, and which limit says so (headroom)
    both            ->  plan       verdict, peak, times, alternatives, what to give up (verdict, fit, selection)

`plans` puts the three together for one stage, `timeline` and `pipeline_file` for several, `saved` writes and reads
the result. Sizes are exact integers; a figure is `measured` only where a finished run stands behind it.

Why not a codec ratio below 1 by default: a plan that turns out too large costs a look, one too small a run at 99%.
"""

from artifactctl.capacity.calibration import Basis, FinishedRun
from artifactctl.capacity.demand import Demand, Stage
from artifactctl.capacity.fit import Fit
from artifactctl.capacity.growth import full_at, rate_between, rate_from_history
from artifactctl.capacity.headroom import DEFAULT_RESERVE, NO_RESERVE, Headroom, Reserve, measure_headroom
from artifactctl.capacity.pipeline_file import PipelineWorld, parse_pipeline
from artifactctl.capacity.plans import (
    ExtractionRequest,
    TrainingRequest,
    plan_extraction,
    plan_running,
    plan_training,
)
from artifactctl.capacity.presets import DEFAULT_PRESET, ModelShape, model_shape_from_config, preset, preset_names
from artifactctl.capacity.recipes import (
    PACKED,
    SPECFORGE,
    SPECULATORS,
    Codec,
    ElementType,
    ExtractionRecipe,
    FileLayout,
    FinalState,
    parse_element_type,
    recipe_from_labels,
)
from artifactctl.capacity.saved import capacity_plan_from_json, capacity_plan_to_json
from artifactctl.capacity.selection import ReclaimCandidate, least_regret
from artifactctl.capacity.timeline import PipelineStage, Timeline, plan_pipeline, timeline
from artifactctl.capacity.verdict import Alternative, CapacityPlan, ReclaimOffer, judge, lacking_bytes

__all__ = [
    "DEFAULT_PRESET",
    "DEFAULT_RESERVE",
    "NO_RESERVE",
    "PACKED",
    "SPECFORGE",
    "SPECULATORS",
    "Alternative",
    "Basis",
    "CapacityPlan",
    "Codec",
    "Demand",
    "ElementType",
    "ExtractionRecipe",
    "ExtractionRequest",
    "FileLayout",
    "FinalState",
    "FinishedRun",
    "Fit",
    "Headroom",
    "ModelShape",
    "PipelineStage",
    "PipelineWorld",
    "ReclaimCandidate",
    "ReclaimOffer",
    "Reserve",
    "Stage",
    "Timeline",
    "TrainingRequest",
    "capacity_plan_from_json",
    "capacity_plan_to_json",
    "full_at",
    "judge",
    "lacking_bytes",
    "least_regret",
    "measure_headroom",
    "model_shape_from_config",
    "parse_element_type",
    "parse_pipeline",
    "plan_extraction",
    "plan_pipeline",
    "plan_running",
    "plan_training",
    "preset",
    "preset_names",
    "rate_between",
    "rate_from_history",
    "recipe_from_labels",
    "timeline",
]
