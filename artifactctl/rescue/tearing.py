"""Shards shorter than their own header says. Only the suspicious ones are opened: reading all would take minutes."""

from collections.abc import Callable, Iterator, Sequence

from artifactctl.domain.errors import HostFailure
from artifactctl.hosts.protocol import Entry, EntryType, Listing
from artifactctl.recognition.safetensors_header import TornHeader, read_header
from artifactctl.recognition.seen import Read, join
from artifactctl.recognition.sightings import Layout
from artifactctl.rescue.finds import Find
from artifactctl.rescue.open_finds import Weight, find_of

MOST_OPENED = 8
_SHARDED = (Layout.SAFETENSORS, Layout.SPECULATORS_DUMP, Layout.HUGGING_FACE)


def torn_files(folder: Listing, layout: Layout, read: Read, weight_of: Callable[[Entry], Weight]) -> Iterator[Find]:
    """Yield the torn safetensors files directly in a folder, as far as the newest and the smallest ones tell."""
    if layout not in _SHARDED:
        return
    for entry in _suspects(folder.entries):
        relative = join(folder.relative, entry.name)
        try:
            read_header(read, relative, entry.size_bytes)
        except TornHeader as torn:
            yield find_of(relative, weight_of(entry), None, is_directory=False, problems=(str(torn),))
        except HostFailure:
            continue  # not readable is not torn


def _suspects(entries: Sequence[Entry]) -> list[Entry]:
    """Return the newest shard and the smallest ones, each once."""
    shards = [e for e in entries if e.type is EntryType.FILE and e.name.endswith(b".safetensors") and e.allocated_bytes]
    smallest = sorted(shards, key=lambda entry: entry.size_bytes)[: MOST_OPENED - 1]
    newest = sorted(shards, key=lambda entry: entry.modified_ns)[-1:]
    return list({entry.name: entry for entry in (*newest, *smallest)}.values())
