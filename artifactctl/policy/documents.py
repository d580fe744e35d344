"""YAML text as plain data, with the line and column of every key and item.

A reviewer must be able to read a policy file as it stands. So there are no anchors, aliases, merge keys, tags or
directives, no key twice, and scalars mean what they look like: `no`, `0777`, `1_000`, `1e3`, dates and times are text;
only `true`, `false`, plain decimal numbers and nothing at all are anything else.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, Event
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from artifactctl.policy.findings import Code, Finding, finding
from artifactctl.policy.ruleset import Place

Path = tuple[str | int, ...]
"""Keys and indices that lead from the top of a document to a value."""

_MOST_LEVELS = 32
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})\.[0-9]{1,18}")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file: mappings as dict, sequences as tuple; `places` has the key or item of every path, () the top."""

    file: str
    data: Any
    places: Mapping[Path, Place]
    findings: tuple[Finding, ...] = ()

    def place(self, path: Path) -> Place:
        """Return where the path stands, else the nearest thing around it that is there."""
        while path not in self.places and path:
            path = path[:-1]
        return self.places.get(path, Place(file=self.file, line=1, column=1))


def read_document(file: str, content: str | bytes) -> Document:
    """Return the file as data with positions; what YAML-wise is wrong with it stands in `findings`, data is then None.

    A key that occurs twice leaves the first one standing, so that the rest of the file can be looked at too.
    """
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        return _unreadable(file, _not_utf8(file, error))
    try:
        refused = tuple(_refused(file, text))
        node = None if refused else _yaml().compose(text)
    except ReaderError as error:
        before = text[: error.position]
        place = Place(file=file, line=before.count("\n") + 1, column=len(before) - before.rfind("\n"))
        return _unreadable(file, finding(place, Code.YAML, "a control character cannot stand in YAML; remove it"))
    except MarkedYAMLError as error:
        return _unreadable(file, _syntax(file, error))
    except (YAMLError, RecursionError) as error:
        return _unreadable(file, finding(_top(file), Code.SCHEMA, f"not YAML: {error or 'nested too deeply'}"))
    if refused:
        return Document(file=file, data=None, places={}, findings=refused)
    return _Builder(file).document(node)


def _yaml() -> YAML:
    return YAML(typ="rt", pure=True)


def _top(file: str) -> Place:
    return Place(file=file, line=1, column=1)


def _unreadable(file: str, problem: Finding) -> Document:
    return Document(file=file, data=None, places={}, findings=(problem,))


def _not_utf8(file: str, error: UnicodeDecodeError) -> Finding:
    before = error.object[: error.start]
    line_start = before.rfind(b"\n") + 1
    column = len(before[line_start:].decode("utf-8", "replace")) + 1
    place = Place(file=file, line=before.count(b"\n") + 1, column=column)
    byte = error.object[error.start]
    return finding(place, Code.YAML, f"the byte 0x{byte:02x} is not UTF-8; save the file as UTF-8")


def _syntax(file: str, error: MarkedYAMLError) -> Finding:
    mark = error.problem_mark or error.context_mark
    place = _top(file) if mark is None else Place(file=file, line=mark.line + 1, column=mark.column + 1)
    if error.problem == "but found another document":
        return finding(place, Code.SCHEMA, "a second document begins here; one file holds one policy")
    return finding(place, Code.SCHEMA, f"not YAML: {error.problem or error.context}")


def _refused(file: str, text: str) -> Iterator[Finding]:
    """Yield a finding for everything in the text that reviewers misread, up to where it is nested too deeply."""
    levels = 0
    for event in _yaml().parse(text):
        levels += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if levels > _MOST_LEVELS:  # reading on would take time that grows with the square of the depth
            yield finding(_place(file, event), Code.SCHEMA, f"nested too deeply: over {_MOST_LEVELS} levels")
            return
        what = _misread(event)
        if what:
            yield finding(_place(file, event), Code.YAML, what)


def _misread(event: Event) -> str:
    if isinstance(event, AliasEvent):
        return f"the alias `*{_anchor(event)}` hides what stands here; write it out"
    if _anchor(event):
        return f"the anchor `&{_anchor(event)}` is not allowed; write things out where they are meant"
    if isinstance(event, DocumentStartEvent) and (event.version or event.tags):
        return "a `%` directive changes what the file means; remove it"
    tag = getattr(event, "tag", None)
    return f"the tag `{tag}` is not allowed; write the value plainly" if tag else ""


def _anchor(event: Event) -> str:
    return getattr(event, "anchor", None) or ""


def _place(file: str, marked: Any) -> Place:
    return Place(file=file, line=marked.start_mark.line + 1, column=marked.start_mark.column + 1)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Turns nodes into data and notes where everything stands."""

    file: str
    places: dict[Path, Place] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def document(self, node: Node | None) -> Document:
        data = None
        if node is not None:
            self.places[()] = _place(self.file, node)
            data = self.value(node, ())
        return Document(file=self.file, data=data, places=self.places, findings=tuple(self.findings))

    def value(self, node: Node, path: Path) -> Any:
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            for index, item in enumerate(node.value):
                self.places[*path, index] = _place(self.file, item)
            return tuple(self.value(item, (*path, index)) for index, item in enumerate(node.value))
        return _scalar(node)

    def mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = _place(self.file, key_node)
            if not isinstance(key_node, ScalarNode):
                self.findings.append(finding(place, Code.SCHEMA, "a key must be one word or text"))
            elif key_node.value == "<<" and key_node.style is None:
                self.findings.append(finding(place, Code.YAML, "the merge key `<<` is not allowed; write things out"))
            elif key_node.value in found:
                first = self.places[*path, key_node.value].line
                message = f"the key `{key_node.value}` stands here a second time (first in line {first})"
                self.findings.append(finding(place, Code.YAML, message))
            else:
                self.places[*path, key_node.value] = place
                found[key_node.value] = self.value(value_node, (*path, key_node.value))
        return found


def _scalar(node: Node) -> Any:
    text: str = node.value
    if getattr(node, "style", None) is not None:  # in quotes, or a block
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
