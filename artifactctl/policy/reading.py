"""Policy files, text in hand: what each says, where, and what they mean together.

Several files are one policy. Protects are a union; rules stand in the order of the file names, then of their places;
of every limit the strictest holds, of every waiting time the longest, where a file that says nothing counts with the
default. So another file never loosens anything, and the order in which files are handed in does not matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pydantic import ValidationError

from artifactctl.domain.errors import UsageError
from artifactctl.policy import meaning
from artifactctl.policy.complaints import emptiness, findings_of
from artifactctl.policy.documents import Document, Path, read_document
from artifactctl.policy.findings import Code, Finding, Level, PolicyUnusable, finding, in_order
from artifactctl.policy.language import PolicyDocument
from artifactctl.policy.layering import strictest
from artifactctl.policy.ruleset import Place, Policy, Protect, Rule

MIN_AGE = timedelta(0)
QUIET_TIME = timedelta(minutes=15)
QUARANTINE = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """One file as read; `written` is None where it cannot be followed, and `findings` says why."""

    document: Document
    written: PolicyDocument | None
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """What the file is called."""
        return self.document.file


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFiles:
    """Files that are one policy, in the order of their names; `policy` is None where there is an error in one."""

    files: tuple[PolicyFile, ...]
    findings: tuple[Finding, ...]
    policy: Policy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPlaces:
    """Where one protect or rule stands, and what is in it."""

    document: Document
    path: Path

    @property
    def name(self) -> Place:
        """Where its name stands."""
        return self.of("name")

    def of(self, *keys: str) -> Place:
        """Return where a key in it stands."""
        return self.document.place((*self.path, *keys))


def load_policy(files: Sequence[tuple[str, str | bytes]]) -> Policy:
    """Return what the files (name, content) mean together; PolicyUnusable lists what is wrong with them."""
    return usable(read_policy(files))


def usable(read: PolicyFiles) -> Policy:
    """Return what the files mean together; PolicyUnusable lists what is wrong with them."""
    if read.policy is None:
        raise PolicyUnusable([item for item in read.findings if item.level is Level.ERROR])
    return read.policy


def read_policy(files: Sequence[tuple[str, str | bytes]]) -> PolicyFiles:
    """Return the files as read, everything that is wrong with them, and what they mean where nothing is."""
    if not files:
        raise UsageError("there is no policy file", remedy="name a FILE, or a folder that holds *.yaml or *.yml")
    read = tuple(read_file(name, content) for name, content in sorted(files, key=lambda item: item[0]))
    findings = [item for file in read for item in file.findings]
    findings += _named_twice(read)
    usable = not any(item.level is Level.ERROR for item in findings)
    return PolicyFiles(files=read, findings=in_order(findings), policy=_merged(read) if usable else None)


def read_file(name: str, content: str | bytes) -> PolicyFile:
    """Return one file as read."""
    document = read_document(name, content)
    problems = list(document.findings)
    written = None
    if document.data is None and not problems:
        problems.append(finding(document.place(()), Code.SCHEMA, "the file is empty; it needs schema, name and limits"))
    elif document.data is not None:
        problems += (empty := list(emptiness(document)))
        try:
            written = PolicyDocument.model_validate(document.data)
        except ValidationError as error:
            told = {item.place for item in empty}
            problems += [item for item in findings_of(error, document) if item.place not in told]
    return PolicyFile(document=document, written=None if problems else written, findings=in_order(problems))


def places_of(read: PolicyFiles, section: Literal["protect", "rules"]) -> tuple[EntryPlaces, ...]:
    """Return where the entries of a section stand, in the order in which the merged policy has them."""
    return tuple(entry for file in read.files for entry in _entries(file, section))


def _entries(file: PolicyFile, section: Literal["protect", "rules"]) -> Iterable[EntryPlaces]:
    written = file.written
    count = len(written.protect if section == "protect" else written.rules) if written else 0
    return (EntryPlaces(document=file.document, path=(section, index)) for index in range(count))


def _named_twice(files: Iterable[PolicyFile]) -> Iterable[Finding]:
    """Yield a finding for every protect and every rule whose name another one of them has."""
    seen: dict[tuple[str, str], Place] = {}
    for file in files:
        if file.written is None:
            continue
        names = [("protect", index, entry.name) for index, entry in enumerate(file.written.protect)]
        names += [("rule", index, entry.name) for index, entry in enumerate(file.written.rules)]
        for what, index, name in names:
            place = file.document.place(("protect" if what == "protect" else "rules", index, "name"))
            first = seen.setdefault((what, name), place)
            if first != place:
                message = f"a {what} called `{name}` stands at {first} already; every one needs its own name"
                yield finding(place, Code.YAML, message)


def _merged(files: Sequence[PolicyFile]) -> Policy:
    pairs = [(file.written, file.document) for file in files if file.written is not None]
    protects: list[Protect] = []
    rules: list[Rule] = []
    for written, document in pairs:
        protects += meaning.protects_of(written, document)
        rules += meaning.rules_of(written, document)
    defaults = [written.defaults for written, _ in pairs]
    return Policy(
        name=", ".join(dict.fromkeys(written.name for written, _ in pairs)),
        owner=", ".join(dict.fromkeys(written.owner for written, _ in pairs if written.owner)),
        limits=strictest([meaning.limits_of(written.limits) for written, _ in pairs]),
        protects=tuple(protects),
        rules=tuple(rules),
        min_age=max(_said(each.min_age, MIN_AGE) for each in defaults),
        quiet_time=max(_said(each.quiet_time, QUIET_TIME) for each in defaults),
        grace=max(_said(each.quarantine, QUARANTINE) for each in defaults),
    )


def _said(stated: timedelta | None, otherwise: timedelta) -> timedelta:
    return otherwise if stated is None else stated
