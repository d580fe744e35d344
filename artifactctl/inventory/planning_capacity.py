"""Capacity plans from what is known here: the volume as it is, promises, finished runs, and what could be given up."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from artifactctl.capacity.calibration import FinishedRun
from artifactctl.capacity.headroom import Headroom, measure_headroom
from artifactctl.capacity.pipeline_file import PipelineWorld, parse_pipeline
from artifactctl.capacity.plans import (
    ExtractionRequest,
    TrainingRequest,
    plan_extraction,
    plan_running,
    plan_training,
)
from artifactctl.capacity.presets import ModelShape, model_shape_from_config, preset
from artifactctl.capacity.selection import ReclaimCandidate
from artifactctl.capacity.timeline import StageSpan, plan_pipeline, timeline
from artifactctl.capacity.verdict import CapacityPlan
from artifactctl.catalog.reading import Reading
from artifactctl.configuration.gguf_metadata import config_of_gguf
from artifactctl.domain.artifacts import Reservation, Root
from artifactctl.domain.errors import UsageError
from artifactctl.domain.observation import VolumeUsage
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.candidates import trust_here
from artifactctl.inventory.finding import find_artifact
from artifactctl.inventory.finished_runs import finished_runs
from artifactctl.inventory.giving_up import reclaim_candidates
from artifactctl.inventory.machines import roots_here, roots_on_volume
from artifactctl.inventory.places import Here, place_of
from artifactctl.inventory.tree_growth import Growth
from artifactctl.inventory.volumes import find_volume
from artifactctl.policy.ruleset import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningWorld:
    """What plans are made from, on whichever machine. Without a catalog there are no roots, promises, runs or
    candidates.
    """

    here: Here
    now: datetime
    policy: Policy
    reading: Reading | None

    def volume(self, host: Host, word: str) -> VolumeUsage:
        """Return the volume of a machine that a word means."""
        roots: Sequence[Root] = roots_here(self.reading, host.identify()) if self.reading else ()
        path = place_of(self.reading, word, here=self.here).path
        return find_volume(host, word, roots=roots, path=path)

    def headroom(self, usage: VolumeUsage, *, own_reservation_id: str = "") -> Headroom:
        """Return what may still be written there, by whoever was promised the reservation of this id."""
        promised: Sequence[Reservation] = self.reading.reservations(self.now) if self.reading else ()
        return measure_headroom(usage, reservations=promised, own_reservation_id=own_reservation_id)

    def runs(self) -> tuple[FinishedRun, ...]:
        """Return what earlier runs teach."""
        return finished_runs(self.reading) if self.reading else ()

    def candidates(self, host: Host, usage: VolumeUsage) -> tuple[ReclaimCandidate, ...]:
        """Return what could be given up on a volume of a machine."""
        if self.reading is None:
            return ()
        trust = trust_here(host, self.reading, now=self.now)
        roots = roots_on_volume(self.reading, host.identify(), usage.filesystem_uuid)
        return reclaim_candidates(self.reading, roots, policy=self.policy, trust=trust, now=self.now)

    def tokens_of(self, word: str) -> int:
        """Return the tokens of a corpus or of hidden states; UsageError when nobody counted them."""
        tokens, _ = self.counts_of(word)
        return tokens

    def counts_of(self, word: str) -> tuple[int, int | None]:
        """Return (tokens, records or None) of an artifact."""
        if self.reading is None:
            raise UsageError(f"there is no catalog that knows `{word}`", remedy="give --tokens 87.8M instead")
        artifact = find_artifact(self.reading, word, here=self.here)
        if not artifact.tokens:
            raise UsageError(f"nobody counted the tokens of `{artifact.name}`", remedy="give --tokens 87.8M instead")
        return artifact.tokens, artifact.records


def model_shape(word: str) -> ModelShape:
    """Return the shape of a preset, of a config.json or the folder of a model that has one, or of a GGUF file."""
    path = Path(word)
    path = path / "config.json" if path.is_dir() else path
    if not path.is_file():
        return preset(word)
    if path.suffix == ".gguf":
        return model_shape_from_config(config_of_gguf(path), name=path.name)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read as a model's config: {error}", remedy="give its config.json"
        ) from error
    if not isinstance(config, dict):
        raise UsageError(f"{path} is not a model's config", remedy="give its config.json, or a preset by name")
    return model_shape_from_config(config, name=path.parent.name or word)


def plan_next_extraction(
    world: PlanningWorld, host: Host, request: ExtractionRequest, usage: VolumeUsage
) -> CapacityPlan:
    """Return the plan of an extraction that would start now on the volume."""
    made = plan_extraction(
        replace(request, block_bytes=usage.block_bytes or request.block_bytes),
        headroom=world.headroom(usage),
        now=world.now,
        runs=world.runs(),
        candidates=world.candidates(host, usage),
    )
    return _on(host, made)


def plan_next_training(world: PlanningWorld, host: Host, request: TrainingRequest, usage: VolumeUsage) -> CapacityPlan:
    """Return the plan of a training run that would start now on the volume."""
    made = plan_training(
        request,
        headroom=world.headroom(usage),
        now=world.now,
        runs=world.runs(),
        candidates=world.candidates(host, usage),
    )
    return _on(host, made)


def _on(host: Host, plan: CapacityPlan) -> CapacityPlan:
    """Return the plan with its machine, where that is another one."""
    machine = host.identify()
    if not machine.host_key:
        return plan
    return replace(plan, host=machine.hostname, machine_id=machine.machine_id, host_key=machine.host_key)


def plan_running_job(
    world: PlanningWorld, host: Host, growth: Growth, path: bytes, *, whole_bytes: int, whole_tokens: int | None
) -> CapacityPlan:
    """Return the plan of a job that writes `whole_bytes` in all below `path` and was watched for a while."""
    remaining_bytes = max(0, whole_bytes - growth.written_bytes)
    remaining_tokens = None
    if whole_tokens is not None and whole_bytes:
        remaining_tokens = round(whole_tokens * remaining_bytes / whole_bytes)
    usage = host.usage(path)
    made = plan_running(
        remaining_bytes=remaining_bytes,
        bytes_per_second=growth.bytes_per_second,
        headroom=world.headroom(usage),
        now=world.now,
        remaining_tokens=remaining_tokens,
        candidates=world.candidates(host, usage),
    )
    return _on(host, made)


def plan_pipeline_file(
    world: PlanningWorld, document: dict[str, object], *, source: str, host_of: Callable[[str], Host]
) -> tuple[tuple[CapacityPlan, ...], tuple[StageSpan, ...]]:
    """Return (one plan a volume, the stages in time) of a parsed pipeline file; `host_of` gives a volume's machine."""
    stages = parse_pipeline(
        document,
        source=source,
        world=PipelineWorld(runs=world.runs(), tokens_of=world.tokens_of, shape_of=model_shape),
    )
    played = timeline(stages)
    hosts = {need.volume: host_of(need.volume) for need in played.needs}
    usages = {name: world.volume(host, name) for name, host in hosts.items()}
    plans = plan_pipeline(
        stages,
        headrooms={name: world.headroom(usage) for name, usage in usages.items()},
        now=world.now,
        candidates={name: world.candidates(hosts[name], usage) for name, usage in usages.items()},
    )
    return plans, played.spans
