"""The folder of a response set: while it grows, and once it is whole.

| member | what it is |
|---|---|
| responses.jsonl | the records; `responses.jsonl.partial` until every prompt is answered or its hole accepted |
| journal.ndjson | a line for the settings, for each run (when, which server, how it ended), for each lost attempt |
| unanswered.ndjson | a line for each hole of the last run: where its prompt stands, and why there is no answer |
| manifest.json | written last |
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from artifactctl.api.formats import MANIFEST_NAME, MANIFEST_SCHEMA
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import Refused, UsageError
from extract.publishing import is_free, replace_durably, sync_file
from extract.responding.lines import GrowingLines
from extract.responding.prompts import short_key
from extract.responding.settings import Settings, differences
from extract.responding.spending import Usage

RESPONSES, PARTIAL = "responses.jsonl", "responses.jsonl.partial"
JOURNAL, UNANSWERED = "journal.ndjson", "unanswered.ndjson"
MANIFEST = MANIFEST_NAME.decode()
SCHEMA = "artifactctl.response_set/1"


def require_ours(place: Path) -> None:
    """Return when the place is free, or was begun by this stage; UsageError otherwise."""
    if not is_free(place) and not (place / JOURNAL).exists():
        raise UsageError(f"{place} is there already, and holds no responses", remedy="give another --out")


class Workplace:
    """The open folder, for one program at a time. `usage` sums what is in it, `answered` are its keys."""

    def __init__(self, place: Path, settings: Settings) -> None:
        """Open the folder, which exists; Busy, Refused when it was begun with other settings."""
        self.place = place
        self._journal = GrowingLines(place / JOURNAL)
        self.usage = Usage()
        self.answered: set[bytes] = set()
        self._responses: GrowingLines | None = None
        self._holes: GrowingLines | None = None
        try:
            self._read_journal(settings)
            self._open_responses()
        except BaseException:
            self.close()
            raise

    def note(self, event: Mapping[str, Any]) -> None:
        """Write an event of the run into the journal, durably."""
        self._journal.append(event)
        self._journal.sync()

    def record(self, record: Mapping[str, Any], line: str) -> None:
        """Append one answer; `line` is the record as JSON, `record` what is counted of it."""
        assert self._responses is not None
        self._responses.append_line(line)
        self.answered.add(short_key(record["prompt_key"]))
        self.usage.add(record)

    def note_lost(self, key: str, tokens: int, reason: str) -> None:
        """Note an attempt that came to nothing and may have cost tokens."""
        self._journal.append({"lost_attempt": {"prompt_key": key, "tokens": tokens, "reason": reason}})
        self.usage.add_lost(tokens)

    def note_hole(self, hole: Mapping[str, Any]) -> None:
        """List a prompt without an answer; those of the run before are forgotten with the first."""
        if self._holes is None:
            self._holes = GrowingLines(self.place / UNANSWERED)
            self._holes.clear()
        self._holes.append(hole)

    def sync(self) -> None:
        """Make everything durable."""
        for lines in (self._responses, self._journal, self._holes):
            if lines is not None and lines.unsynced_bytes:
                lines.sync()

    @property
    def size_bytes(self) -> int:
        """How long the records are."""
        return self._responses.size_bytes if self._responses is not None else 0

    def publish(self, settings: Settings, totals: Mapping[str, Any]) -> None:
        """Give the records their name and write the manifest over everything, durably."""
        self.sync()
        if self._holes is None and (self.place / UNANSWERED).exists():
            self._holes = GrowingLines(self.place / UNANSWERED)
            self._holes.clear()
        replace_durably(self.place / PARTIAL, self.place / RESPONSES)
        members = [name for name in (RESPONSES, JOURNAL, UNANSWERED) if (self.place / name).exists()]
        manifest = {
            "schema": MANIFEST_SCHEMA,
            "kind": ArtifactKind.RESPONSE_SET.value,
            "tokens": None,
            "records": self.usage.answers,
            "respond": {"schema": SCHEMA, "settings": settings.as_json(), **totals},
            "members": [{"path": name, "size_bytes": (self.place / name).stat().st_size} for name in members],
        }
        aside = self.place / f"{MANIFEST}.partial"
        with open(aside, "wb") as file:
            file.write(json.dumps(manifest, indent=1).encode() + b"\n")
            sync_file(file)
        replace_durably(aside, self.place / MANIFEST)

    def close(self) -> None:
        """Let the folder go."""
        for lines in (self._responses, self._holes, self._journal):
            if lines is not None:
                lines.close()

    def _read_journal(self, settings: Settings) -> None:
        theirs = None
        for event in self._journal.recover():
            if "settings" in event:
                theirs = event["settings"]
            elif isinstance(event.get("lost_attempt"), dict):
                tokens = event["lost_attempt"].get("tokens")
                self.usage.add_lost(tokens if isinstance(tokens, int) else 0)
        if theirs is None:
            if (self.place / PARTIAL).exists():
                raise Refused(f"the settings in {self._journal.path} are gone", remedy="give another --out")
            self.note({"schema": SCHEMA, "settings": settings.as_json()})
        elif theirs != settings.as_json():
            said = "; ".join(differences(settings.as_json(), theirs))
            raise Refused(
                f"{self.place} was begun with other settings: {said}", remedy="give those again, or another --out"
            )

    def _open_responses(self) -> None:
        if not (self.place / PARTIAL).exists() and (self.place / RESPONSES).exists():
            replace_durably(self.place / RESPONSES, self.place / PARTIAL)  # a run died between its name and the seal
        self._responses = GrowingLines(self.place / PARTIAL)
        for record in self._responses.recover():
            key = record.get("prompt_key")
            if not isinstance(key, str):
                raise Refused(f"{self._responses.path} holds records of something else", remedy="give another --out")
            self.answered.add(short_key(key))
            self.usage.add(record)
