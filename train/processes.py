"""One process, or several that torchrun started: who this one is, and sums over all of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from artifactctl.domain.errors import UsageError
from train.unroll import Unroll

PATIENCE = timedelta(days=1)
"""How long processes wait for each other: the first one may be waiting for room before a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """This process among those that train together; only the first one writes, and talks to the catalog."""

    rank: int
    count: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def summed(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the sum over all processes, without a gradient."""
        total = tensor.detach().clone()
        if self.count > 1:
            distributed.all_reduce(total)
        return total

    def told(self, words: list[str]) -> list[str]:
        """Return what the first process says."""
        if self.count > 1:
            distributed.broadcast_object_list(words, src=0)
        return words

    def any_wants(self, wish: object) -> bool:
        """Whether at least one process wants something."""
        return bool(self.summed(torch.tensor(float(bool(wish)), device=self.device)) > 0)

    def shared(self, unroll: Unroll) -> torch.nn.Module:
        """Return the module whose gradients are the mean over all processes."""
        if self.count == 1:
            return unroll
        devices = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(unroll, device_ids=devices, broadcast_buffers=False)


@contextmanager
def processes(device: str) -> Iterator[Processes]:
    """Join the other processes of torchrun, or be alone; "auto" is a GPU each where there are GPUs."""
    count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    kind = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    place = torch.device(kind, int(os.environ.get("LOCAL_RANK", "0"))) if kind == "cuda" else torch.device(kind)
    if place.type == "cuda":
        if not torch.cuda.is_available():
            raise UsageError("there is no GPU", remedy='write device = "cpu"')
        torch.cuda.set_device(place)
    if count > 1:
        backend = "nccl" if place.type == "cuda" else "gloo"
        distributed.init_process_group(backend, rank=rank, world_size=count, timeout=PATIENCE)
    try:
        yield Processes(rank=rank, count=count, device=place)
    finally:
        if count > 1:
            distributed.destroy_process_group()
