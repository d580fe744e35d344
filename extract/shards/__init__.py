"""Shards of hidden states: many records packed into safetensors files, and the dumps of others read as they are.

A record is one sample: its token ids, its loss mask, and one row of states for each token. A shard holds whole records
and is found by row offsets, so that any record is read by itself (`packed_shards` in artifactctl names its tensors). A
dump is a folder of shards with its manifest; SpecForge's and speculators' folders are dumps too, in place.

    >>> shard = open_shard("states/shard-00000.safetensors")  # doctest: +SKIP
    >>> shard[17].states.shape, shard[17].states.dtype  # doctest: +SKIP
    ((412, 21504), dtype('uint16'))

States come as numpy arrays of bit patterns (uint16 for bf16 and fp16, uint32 for fp32), since numpy has no bf16;
`tensors.as_torch` makes torch tensors of a record without copying them. Reading needs numpy, not torch.

How a shard comes to be (`writer`, `aside`):
1. `NAME.partial` is made beside its place and locked, and all of its room is allocated. A full disk says so here.
2. Records are appended, checked one by one: rows equal tokens, every value is a finite number.
3. The small tensors and the header follow; the header stands first but is written last, into the space kept for it.
4. The file is cut to its length, synced, renamed, its folder synced. From here on it is whole.
5. The manifest is written last, in the same way. A folder without one is unfinished.
A run that is killed leaves whole shards and one `.partial`, which the next run for the same folder takes over.

Every shard carries the fingerprint of the run that wrote it (corpus, tokenizer, template, model, layers, norm, element
type, codec). A run that finds shards of another fingerprint refuses, and says in what they differ.
"""

from extract.shards.reader import Shard, open_shard
from extract.shards.records import StateRecord

__all__ = ["Shard", "StateRecord", "open_shard"]
