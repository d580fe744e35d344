"""One process's part of a run: the model, the data and the optimizer, made from what the first process decided."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from artifactctl.domain.errors import UsageError
from extract.vocabulary.map_files import read_map
from train.batches import Fit, Order, Portion, RecordBatches, Split, StepBatches, loader, split_by_key
from train.checkpoints import restore_checkpoint
from train.datasets import HiddenStatesDataset, Outline
from train.draft import DraftConfig, DraftModel, initialise
from train.loop import Hooks, train
from train.optimizing import optimizer_of
from train.processes import Processes
from train.settings import TrainingSettings
from train.target import FrozenTarget, load_target
from train.teacher import Teacher
from train.unroll import Unroll


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What every process works with: paths and numbers, as text between processes. `resume_from` "" at the start."""

    states_folder: str
    states_files: tuple[str, ...]
    map_folder: str
    target: str
    layers: tuple[int, ...]
    resume_from: str
    first_step: int
    settings: TrainingSettings

    def as_text(self) -> str:
        """Return it as JSON."""
        return json.dumps({**asdict(self), "settings": self.settings.as_json()})

    @classmethod
    def of_text(cls, text: str) -> "Given":
        """Return what `as_text` wrote."""
        content: dict[str, Any] = json.loads(text)
        settings = TrainingSettings.of_values(content.pop("settings"), source="the first process")
        files, layers = tuple(content.pop("states_files")), tuple(content.pop("layers"))
        return cls(settings=settings, states_files=files, layers=layers, **content)


class Work:
    """What is made in each process. Models and data are loaded when they are first asked for."""

    def __init__(self, given: Given, together: Processes) -> None:
        self._given = given
        self._together = together
        self.settings = given.settings
        if self.settings.records_a_step % together.count:
            raise UsageError(
                f"{self.settings.records_a_step} records a step do not divide among {together.count} processes",
                remedy="write records_a_step as a multiple of them",
            )

    @cached_property
    def dataset(self) -> HiddenStatesDataset:
        """The hidden states."""
        return HiddenStatesDataset(self._given.states_folder, self._given.states_files)

    @cached_property
    def outline(self) -> Outline:
        """Keys and lengths of the records."""
        return self.dataset.outline()

    @cached_property
    def split(self) -> Split:
        """Which records are trained on; UsageError when there is none."""
        split = split_by_key(self.outline.content_keys, fraction=self.settings.held_out)
        if not split.training:
            raise UsageError("every record is held out for evaluation", remedy="write a smaller held_out")
        return split

    @cached_property
    def unroll(self) -> Unroll:
        """The draft, drawn anew from the seed, with its teacher, on this process's device."""
        target = load_target(Path(self._given.target))
        dtype = torch.bfloat16 if self.settings.precision == "bf16" else torch.float32
        used = read_map(Path(self._given.map_folder)).used
        width = {"intermediate_size": self.settings.intermediate_size} if self.settings.intermediate_size else {}
        config = target.config.draft(layers=self._given.layers, draft_vocabulary=len(used), **width)
        draft = new_draft(config, target, used, self.settings, dtype=dtype)
        teacher = Teacher(target, self.dataset.final_state, dtype=dtype)
        return Unroll(draft, teacher, steps=self.settings.unroll_steps).to(self._together.device)

    @cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimizer, as it was in the checkpoint that is resumed; with it the draft's weights."""
        optimizer = optimizer_of(self.unroll.draft, self.settings)
        if self._given.resume_from:
            restore_checkpoint(Path(self._given.resume_from), self.unroll.draft, optimizer)
        return optimizer

    def run(self, hooks: Hooks) -> int:
        """Train; return how many steps were made in all."""
        together, settings = self._together, self.settings
        portion = Portion(rank=together.rank, of=together.count)
        fit = Fit(longest_tokens=settings.longest_tokens, vocabulary=self.unroll.draft.config.target_vocabulary)
        steps = StepBatches(
            self.dataset,
            Order(self.split.training, seed=settings.seed),
            records_a_step=settings.records_a_step,
            fit=fit,
            portion=portion,
            steps=settings.steps,
        )
        held_out = RecordBatches(
            self.dataset,
            self.split.held_out[: settings.evaluation_records][portion.rank :: portion.of],
            records_a_batch=max(1, settings.records_a_step // together.count),
            fit=fit,
        )
        return train(
            self.unroll,
            self.optimizer,
            loader(steps, range(self._given.first_step, settings.steps), workers=settings.workers),
            loader(held_out, range(len(held_out)), workers=0),
            settings,
            together,
            hooks,
            first_step=self._given.first_step,
        )


def new_draft(
    config: DraftConfig, target: FrozenTarget, used: tuple[int, ...], settings: TrainingSettings, *, dtype: torch.dtype
) -> DraftModel:
    """Return a draft before its first step, weights in float32, the frozen embedding in `dtype`."""
    draft = DraftModel(config, used=used, embedding_VH=target.embedding.to(dtype))
    initialise(draft, seed=settings.seed)
    if settings.initial_head == "target":
        with torch.no_grad():
            draft.lm_head.weight.copy_(target.head[list(used)])
            draft.norm.weight.copy_(target.norm)
    return draft
