"""Which records a step trains on, and their batches: decided by seed and step alone, whoever asks, whenever.

Shape suffixes: B records, L tokens of the longest one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset

from artifactctl.domain.errors import CheckFailed
from train.datasets import HiddenStatesDataset
from train.unroll import Batch

_KEY_SPAN = 2**64
_SEED_SPAN = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Positions of records: those trained on, and those held out for evaluation."""

    training: tuple[int, ...]
    held_out: tuple[int, ...]


def split_by_key(keys: Sequence[bytes], *, fraction: float) -> Split:
    """Hold out the records whose content key, as a number from 0 to 1, is below `fraction`.

    The same record falls on the same side in every dump, in any order, and so do its duplicates.
    """
    below = round(fraction * _KEY_SPAN)
    is_out = [int.from_bytes(key[:8], "big") < below for key in keys]
    return Split(
        training=tuple(position for position, out in enumerate(is_out) if not out),
        held_out=tuple(position for position, out in enumerate(is_out) if out),
    )


class Order:
    """The endless order of records: one permutation of all for each epoch, drawn from the seed."""

    def __init__(self, records: Sequence[int], *, seed: int) -> None:
        self._records = records
        self._seed = seed
        self._drawn: tuple[int, list[int]] | None = None

    def drawn(self, begin: int, end: int) -> list[int]:
        """Return the records from place `begin` to before `end` of the order."""
        return [self._at(place) for place in range(begin, end)]

    def _at(self, place: int) -> int:
        epoch, within = divmod(place, len(self._records))
        if self._drawn is None or self._drawn[0] != epoch:
            generator = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) % _SEED_SPAN)
            self._drawn = (epoch, torch.randperm(len(self._records), generator=generator).tolist())
        return self._records[self._drawn[1][within]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """What one process takes of a batch: every `of`-th record, from number `rank` on."""

    rank: int = 0
    of: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What records are made to fit: `longest_tokens`, beyond which they are cut, and the target's `vocabulary`."""

    longest_tokens: int
    vocabulary: int


class StepBatches(Dataset[Batch]):
    """The batch of each step, by its number from zero, as far as this process trains on it."""

    def __init__(
        self,
        dataset: HiddenStatesDataset,
        order: Order,
        *,
        records_a_step: int,
        fit: Fit,
        portion: Portion,
        steps: int,
    ) -> None:
        self._dataset = dataset
        self._order = order
        self._records_a_step = records_a_step
        self._fit = fit
        self._portion = portion
        self._steps = steps

    def __len__(self) -> int:
        return self._steps

    def __getitem__(self, step: int) -> Batch:
        begin = step * self._records_a_step
        records = self._order.drawn(begin, begin + self._records_a_step)[self._portion.rank :: self._portion.of]
        return collate([self._dataset[position] for position in records], self._fit)


class RecordBatches(Dataset[Batch]):
    """Records in their order, for evaluation: as many to a batch as fit."""

    def __init__(self, dataset: HiddenStatesDataset, records: Sequence[int], *, records_a_batch: int, fit: Fit) -> None:
        self._dataset = dataset
        self._groups = [records[at : at + records_a_batch] for at in range(0, len(records), records_a_batch)]
        self._fit = fit

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, group: int) -> Batch:
        return collate([self._dataset[at] for at in self._groups[group]], self._fit)


def loader(batches: Dataset[Batch], numbers: Sequence[int], *, workers: int) -> DataLoader[Batch]:
    """Return the batches with those numbers, read ahead by `workers` processes, 0 for none."""
    return DataLoader(
        batches,
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        prefetch_factor=2 if workers else None,
        pin_memory=torch.cuda.is_available(),
    )


def collate(items: Sequence[dict[str, torch.Tensor]], fit: Fit) -> Batch:
    """Pad records to the longest; those of more tokens are cut. Without a loss mask every token is learned.

    CheckFailed for ids that are none of the target's.
    """
    lengths = [min(len(item["input_ids"]), fit.longest_tokens) for item in items]

    def padded(name: str, of: Callable[[dict[str, torch.Tensor]], torch.Tensor]) -> torch.Tensor:
        first = of(items[0])
        whole = torch.zeros((len(items), max(lengths), *first.shape[1:]), dtype=first.dtype)
        for row, (item, length) in enumerate(zip(items, lengths, strict=True)):
            whole[row, :length] = of(item)[:length]
        return whole

    ids_BL = padded("input_ids", lambda item: item["input_ids"])
    if int(ids_BL.min()) < 0 or int(ids_BL.max()) >= fit.vocabulary:
        raise CheckFailed(
            f"a record has token {int(ids_BL.max())}, and the target only {fit.vocabulary}",
            remedy="give the target whose states these are",
        )
    mask_BL = padded("mask", lambda item: item.get("loss_mask", torch.ones_like(item["input_ids"])))
    has_final = "hidden_state" in items[0]
    return Batch(
        token_ids=ids_BL,
        learned=mask_BL.bool(),
        aux=padded("aux", lambda item: item["aux_hidden_state"]),
        final=padded("final", lambda item: item["hidden_state"]) if has_final else None,
    )
