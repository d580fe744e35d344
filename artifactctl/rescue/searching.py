"""Folds one walk into finds: what each thing is, how much it holds, who uses it, what points at it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import cast

from artifactctl.domain.identity import MARKER_DIRECTORY
from artifactctl.domain.observation import Holder, VolumeUses
from artifactctl.hosts.protocol import Entry, EntryType, Listing
from artifactctl.recognition.membership import is_transient
from artifactctl.recognition.open_artifact import OpenArtifact
from artifactctl.recognition.seen import Read, join
from artifactctl.recognition.sightings import Sighting
from artifactctl.recognition.sorting import Belonging
from artifactctl.recognition.survey import ArtifactEnded, FolderSurveyed, survey
from artifactctl.rescue.finds import Find, Findings, Pointer
from artifactctl.rescue.open_finds import OpenFind, Times, Weight, find_of
from artifactctl.rescue.pointers import pointers_in
from artifactctl.rescue.tearing import torn_files

HALF_WRITTEN_FOLDERS = (b"tmp-checkpoint-", b".tmp-", b"tmp_checkpoint")
MOST_PROBLEMS = 20


class TimeIsUp(Exception):
    """The search has used up its time; what is finished counts, what is open does not."""


class Search:
    """Goes over a walk once. `findings` may be asked for at any moment, also while another thread is in `run`."""

    def __init__(
        self,
        tops: tuple[bytes, ...],
        read: Read,
        uses: VolumeUses | None,
        *,
        is_over: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> None:
        """`tops`: the absolute names of where it begins; `read` takes paths relative to that."""
        self._tops = tops
        self._plain_read = read
        self._by_inode = uses.by_inode if uses is not None else {}
        self._below = uses.below if uses is not None else ()
        self._is_over = is_over
        self._progress = progress
        self._open: list[OpenFind] = []
        self._finds: list[Find] = []
        self._leftovers: list[Find] = []
        self._torn: list[Find] = []
        self._pointers: list[Pointer] = []
        self._roots: list[bytes] = []
        self._unclaimed: dict[bytes, int] = defaultdict(int)
        self._linked: set[int] = set()
        self._problems: list[str] = []
        self._folder_times: dict[bytes, Times] = {}
        self._top: tuple[bytes, ...] = ()
        self._entries = self._seen_bytes = 0
        self._at = b""
        self._complete = False

    def run(self, walk: Iterable[Listing]) -> None:
        """Search until the walk ends or the time is up."""
        with suppress(TimeIsUp):
            for event in survey(self._folders(walk), self._read, counts_content=False):
                if isinstance(event, FolderSurveyed):
                    self._surveyed(event)
                elif isinstance(event, ArtifactEnded):
                    self._close(down_to=event.artifact.relative)
            self._close(down_to=None)
            self._complete = True

    def findings(self) -> Findings:
        """Return what is known now; artifacts that were not walked to their end are left out."""
        at = self._at
        reached = at.split(b"/")[0]
        return Findings(
            finds=tuple(self._finds),
            leftovers=tuple(self._leftovers),
            torn=tuple(self._torn),
            pointers=tuple(self._pointers),
            roots=tuple(self._roots),
            unclaimed=tuple(sorted(dict(self._unclaimed).items(), key=lambda item: (-item[1], item[0]))),
            entries=self._entries,
            seen_bytes=self._seen_bytes,
            complete=self._complete,
            stopped_in=b"" if self._complete else at,
            unreached=() if self._complete else tuple(name for name in self._top if name > reached),
            problems=tuple(self._problems),
        )

    def _read(self, relative: bytes, offset: int, length: int) -> bytes:
        self._check_time()
        return self._plain_read(relative, offset, length)

    def _check_time(self) -> None:
        if self._is_over():
            raise TimeIsUp

    def _folders(self, walk: Iterable[Listing]) -> Iterator[Listing]:
        for listing in walk:
            self._check_time()
            if listing.problem and len(self._problems) < MOST_PROBLEMS:
                self._problems.append(f"not read: {listing.problem}")
            self._at = listing.relative
            self._progress(len(listing.entries))
            if MARKER_DIRECTORY not in listing.relative.split(b"/"):
                yield listing

    # one folder

    def _surveyed(self, event: FolderSurveyed) -> None:
        folder = event.folder
        assert isinstance(folder, Listing)
        relative = folder.relative
        if not relative:
            self._top = tuple(entry.name for entry in folder.entries if entry.type is EntryType.DIRECTORY)
        self._close(down_to=relative)
        self._open_here(relative, event.owner if event.begins else None)
        self._weigh_folder(folder)
        self._weigh_files(event, folder)
        self._pointers += pointers_in(self._tops, relative, folder.entries, self._read)
        if event.owner is not None and not self._is_in_leftover:
            self._torn += torn_files(folder, event.owner.sighting.layout, self._read, self._weight_of)

    def _open_here(self, relative: bytes, begun: OpenArtifact | None) -> None:
        if self._is_in_leftover:
            return
        name = relative.rpartition(b"/")[2]
        if is_transient(name) or name.startswith(HALF_WRITTEN_FOLDERS):
            self._open.append(OpenFind(relative=relative, artifact=None, weight=Weight()))
        elif begun is not None:
            self._open.append(OpenFind(relative=relative, artifact=begun, weight=Weight()))

    @property
    def _is_in_leftover(self) -> bool:
        return bool(self._open) and self._open[-1].is_leftover

    def _close(self, *, down_to: bytes | None) -> None:
        """Finish every open find that does not hold the folder `down_to` (None: all)."""
        while self._open and (down_to is None or not down_to.startswith(self._open[-1].relative + b"/")):
            ended = self._open.pop()
            found = ended.closed()
            (self._leftovers if ended.is_leftover else self._finds).append(found)
            if self._open and not ended.is_leftover:
                self._open[-1].inside.append((found.relative, found.kind))

    def _weigh_folder(self, folder: Listing) -> None:
        times = self._folder_times.pop(folder.relative, None) or Times()
        holders = [*self._by_inode.get(folder.inode, ()), *(h for h in self._below if h.path == folder.relative)]
        self._seen_bytes += folder.allocated_bytes
        for under_way in self._open:
            under_way.weight.add_folder(folder.allocated_bytes, times, holders)

    def _folder_inside(self, around: bytes, entry: Entry) -> None:
        """Remember what only the folder around tells of one whose listing follows."""
        self._folder_times[join(around, entry.name)] = Times(entry.modified_ns, entry.changed_ns)
        if entry.name == MARKER_DIRECTORY:
            self._roots.append(around)

    def _weigh_files(self, event: FolderSurveyed, folder: Listing) -> None:
        """Add the folder's files to every open find; those with one name are summed up first.

        The one loop that runs for every file of the tree: it calls nothing for an ordinary member.
        """
        allocated_bytes = files = modified_ns = changed_ns = read_ns = 0
        holders: list[Holder] = []
        by_inode, regular = self._by_inode, EntryType.FILE
        folder_itself, member = Belonging.FOLDER, Belonging.MEMBER
        self._entries += len(event.entries)
        for seen, belonging, sighting in event.entries:
            entry = cast("Entry", seen)
            if belonging is folder_itself:
                self._folder_inside(folder.relative, entry)
                continue
            if entry.links > 1:
                self._weigh_linked(entry)
            else:
                allocated_bytes += entry.allocated_bytes
                files += 1
                modified_ns = entry.modified_ns if entry.modified_ns > modified_ns else modified_ns
                changed_ns = entry.changed_ns if entry.changed_ns > changed_ns else changed_ns
                if entry.read_ns > read_ns and entry.type is regular:
                    read_ns = entry.read_ns
                if entry.inode in by_inode:
                    holders += by_inode[entry.inode]
            if belonging is not member:
                self._no_member(folder.relative, entry, sighting)
        self._seen_bytes += allocated_bytes
        times = Times(modified_ns, changed_ns, read_ns)
        for under_way in self._open:
            under_way.weight.add_many(allocated_bytes=allocated_bytes, files=files, times=times, holders=holders)

    def _no_member(self, folder: bytes, entry: Entry, sighting: Sighting | None) -> None:
        if sighting is None:
            self._outsider(folder, entry)
        elif not self._is_in_leftover:
            self._file_artifact(sighting, entry)

    def _weigh_linked(self, entry: Entry) -> None:
        if entry.inode not in self._linked:
            self._linked.add(entry.inode)
            self._seen_bytes += entry.allocated_bytes
        for under_way in self._open:
            under_way.weight.add_file(entry, self._by_inode.get(entry.inode, ()))

    def _file_artifact(self, sighting: Sighting, entry: Entry) -> None:
        self._finds.append(find_of(sighting.relative, self._weight_of(entry), sighting, is_directory=False))
        if self._open:
            self._open[-1].inside.append((sighting.relative, sighting.kind))

    def _outsider(self, folder: bytes, entry: Entry) -> None:
        """Note a file that belongs to nothing around it."""
        relative = join(folder, entry.name)
        if self._is_in_leftover:
            return
        if is_transient(entry.name) and entry.type is EntryType.FILE and entry.allocated_bytes > 0:
            self._leftovers.append(find_of(relative, self._weight_of(entry), None, is_directory=False))
        elif self._open:
            self._open[-1].strays += 1
        else:
            self._unclaimed[relative.split(b"/")[0]] += entry.allocated_bytes

    def _weight_of(self, entry: Entry) -> Weight:
        weight = Weight()
        weight.add_file(entry, self._by_inode.get(entry.inode, ()))
        return weight
