"""One walk over one target: every byte weighed, every artifact compared or offered for recording."""

from collections.abc import Iterator
from dataclasses import replace

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.hosts.protocol import Entry, EntryType, Host, Listing
from artifactctl.inventory.comparing import ComparedMembers
from artifactctl.inventory.known import IN_FLUX, KnownCopies
from artifactctl.inventory.ordering import Ordering
from artifactctl.inventory.outcomes import Outcomes
from artifactctl.inventory.tallies import LETTERS, OpenTally, Tally
from artifactctl.inventory.targets import Target, is_file
from artifactctl.recognition.declarations import Declaration
from artifactctl.recognition.open_artifact import OpenArtifact
from artifactctl.recognition.recognisers import recognise_file, recognise_folder
from artifactctl.recognition.seen import join
from artifactctl.recognition.sightings import Sighting
from artifactctl.recognition.sorting import Belonging, SortedEntry
from artifactctl.recognition.survey import ArtifactEnded, FolderSurveyed, survey
from artifactctl.recognition.views import FolderView


class Stocktaking:
    """Goes over a target once. `outcomes` is told what was found and says what becomes of it."""

    def __init__(
        self,
        host: Host,
        catalog: Catalog,
        target: Target,
        outcomes: Outcomes,
        *,
        accept: frozenset[str] = frozenset(),
        declared: Declaration | None = None,
    ) -> None:
        self._host = host
        self._catalog = catalog
        self._target = target
        self._outcomes = outcomes
        self._accept = accept
        self._declared = declared
        self._known = KnownCopies(catalog, target)
        self._ordering: Ordering[tuple[SortedEntry, OpenArtifact | None]] = Ordering(self._give)
        self._open: dict[int, OpenTally] = {}
        self._met: set[bytes] = set()
        self._unread: list[bytes] = []

    def run(self) -> None:
        """Walk, compare, offer; then say what is missing, where the look was complete."""
        try:
            for event in survey(self._folders(), self._read, self, self._declared):
                if isinstance(event, ArtifactEnded):
                    self._ended(event.artifact)
                else:
                    self._surveyed(event)
        finally:
            for under_way in self._open.values():
                if under_way.tally.compared is not None:
                    under_way.tally.compared.close()
        self._report_missing()

    # what recognition asks of the catalog

    def artifact_at(self, relative: bytes) -> Sighting | None:
        """Return what the catalog has at the path, save where a person declares something new."""
        if self._declared is not None and self._declared.relative == relative:
            return None
        return self._known.sighting(relative)

    def names_in(self, folder: bytes) -> frozenset[bytes]:
        """Return the names in the folder at which the catalog has something."""
        return self._known.names_in(folder)

    def has_members_below(self, artifact: bytes, folder: bytes) -> bool:
        """Whether catalogued members of the artifact lie in the folder, which the walk has just reached."""
        for under_way in self._open.values():
            if under_way.artifact.relative == artifact and under_way.tally.compared is not None:
                return under_way.tally.compared.expects_below(folder[len(artifact) + 1 :])
        return False

    # the walk

    def _read(self, relative: bytes, offset: int, length: int) -> bytes:
        return self._host.read_range(join(self._target.root.path, relative), offset, length)

    def _folders(self) -> Iterator[Listing]:
        """Yield the listings with paths relative to the root; a file as target comes as its folder with one entry."""
        if self._host.identity(self._target.absolute) is not None:
            for listing in self._host.walk(self._target.absolute):
                placed = self._placed(listing)
                self._ordering.advance(placed.relative)
                yield placed
        self._ordering.advance(None)

    def _placed(self, listing: Listing) -> Listing:
        top = self._target.relative
        if not listing.relative and is_file(listing) and top:
            return replace(listing, relative=top.rpartition(b"/")[0], allocated_bytes=0)
        if not top:
            return listing
        return replace(listing, relative=join(top, listing.relative) if listing.relative else top)

    def _surveyed(self, event: FolderSurveyed) -> None:
        folder = event.folder
        assert isinstance(folder, Listing)
        if event.begins and event.owner is not None:
            self._begin(event.owner, folder)
        self._outcomes.folder(folder.relative, note=event.note)
        if event.owner is not None:
            self._open[id(event.owner)].tally.add_folder(folder.allocated_bytes)
        if folder.problem or folder.is_mount:
            self._note_unread(folder)
        self._ordering.put(
            folder.relative, [(sorted_entry.entry.name, (sorted_entry, event.owner)) for sorted_entry in event.entries]
        )

    def _note_unread(self, folder: Listing) -> None:
        problem = folder.problem or "something else is mounted there"
        self._unread.append(folder.relative)
        if folder.problem:
            self._outcomes.problem(problem)
        for under_way in self._open.values():
            if _is_at_or_below(folder.relative, under_way.artifact.relative):
                under_way.tally.incomplete = problem

    def _begin(self, artifact: OpenArtifact, folder: Listing) -> None:
        known = None if artifact.is_declared else self._known.at(artifact.relative)
        self._met.add(artifact.relative)
        compared = None
        if known is not None and artifact.is_catalogued:
            compared = ComparedMembers(self._catalog, known.artifact.artifact_id)
        is_accepted = known is not None and known.artifact.name in self._accept
        self._open[id(artifact)] = OpenTally(
            artifact=artifact,
            known=known,
            tally=Tally(
                artifact.relative,
                inode=folder.inode,
                compared=compared,
                keeps_members=not artifact.is_catalogued or is_accepted,
            ),
            tokens=dict(artifact.sighting.member_tokens),
            is_accepted=is_accepted,
            anew=recognise_folder(FolderView.of(folder, self._read)) if is_accepted else None,
        )

    def _give(self, relative: bytes, given: tuple[SortedEntry, OpenArtifact | None]) -> None:
        """Take one entry, in member order."""
        sorted_entry, owner = given
        entry = sorted_entry.entry
        assert isinstance(entry, Entry)
        for under_way in self._open.values():
            artifact = under_way.artifact
            if relative.startswith(artifact.relative + b"/"):
                under_way.tally.pass_by(artifact.inner(relative), entry)
        if sorted_entry.belonging is Belonging.FOLDER:
            return
        weight_bytes = self._outcomes.weigh(entry)
        if sorted_entry.belonging is Belonging.MEMBER and owner is not None:
            self._member(self._open[id(owner)], relative, entry, weight_bytes)
        elif sorted_entry.sighting is not None:
            self._file(relative, entry, sorted_entry.sighting)
        else:
            inside = self._open[id(owner)] if owner is not None else None
            self._outcomes.uncatalogued(relative, weight_bytes, inside)

    def _member(self, under_way: OpenTally, relative: bytes, entry: Entry, weight_bytes: int) -> None:
        inner = under_way.artifact.inner(relative)
        tally = under_way.tally
        if tally.compared is not None:
            is_catalogued = tally.compared.meet(inner, LETTERS[entry.type], entry.size_bytes)
            if not is_catalogued and (under_way.is_accepted or under_way.artifact.fits(inner)):
                tally.compared.count_stray(inner)
            if not is_catalogued and not under_way.is_accepted:
                self._outcomes.uncatalogued(relative, weight_bytes, under_way)
                return
        tally.add_member(inner, entry, under_way.tokens.get(inner))

    def _file(self, relative: bytes, entry: Entry, sighting: Sighting) -> None:
        self._met.add(relative)
        known = self._known.at(relative)
        is_declared = self._declared is not None and self._declared.relative == relative
        if known is None or is_declared:
            self._outcomes.new_file(sighting, entry)
        elif known.replica.state in IN_FLUX:
            return
        else:
            accepted = known.artifact.name in self._accept
            looks_anew = accepted or not known.artifact.sealed
            anew = recognise_file(self._view_of(relative, entry), entry.name) if looks_anew else None
            self._outcomes.known_file(known, entry, anew, accepted=accepted)

    def _view_of(self, relative: bytes, entry: Entry) -> FolderView:
        return FolderView(
            relative=relative.rpartition(b"/")[0],
            files={entry.name: entry.size_bytes} if entry.type is EntryType.FILE else {},
            directories=frozenset(),
            links=frozenset(),
            read=self._read,
        )

    def _ended(self, artifact: OpenArtifact) -> None:
        under_way = self._open.pop(id(artifact))
        if under_way.known is not None and under_way.known.replica.state in IN_FLUX:
            if under_way.tally.compared is not None:
                under_way.tally.compared.close()
            return
        self._outcomes.ended(under_way)

    def _report_missing(self) -> None:
        for relative, known in self._known.all():
            hidden = any(_is_at_or_below(relative, unread) for unread in self._unread)
            expected = known.replica.state in (ReplicaState.LIVE, ReplicaState.BUILDING)
            if relative not in self._met and expected and not hidden:
                self._outcomes.missing(known)


def _is_at_or_below(relative: bytes, folder: bytes) -> bool:
    return not folder or relative == folder or relative.startswith(folder + b"/")
