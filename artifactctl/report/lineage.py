"""What an artifact was made from and what was made from it: as a tree, for graphviz, for mermaid, as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.artifacts import Artifact, LineageEdge, LineageRole
from artifactctl.domain.text import printable
from artifactctl.report.artifacts import state_of
from artifactctl.report.sizes import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One artifact with its relatives: `artifacts` by id, and the edges among them. `up` and `down`: what is shown."""

    center: int
    artifacts: Mapping[int, Artifact]
    edges: tuple[LineageEdge, ...]
    up: bool = True
    down: bool = True


def lineage_tree(family: Family) -> list[str]:
    """Return the family as lines; a relative reached twice is drawn once and named again."""
    lines = [_described(family.artifacts[family.center])]
    if family.up:
        lines += _branch(family, "made from", upward=True)
    if family.down:
        lines += _branch(family, "used for", upward=False)
    return lines


def lineage_dot(family: Family) -> str:
    """Return the family for graphviz, parents above children."""
    lines = ["digraph lineage {", "  rankdir=TB; node [shape=box];"]
    for key, artifact in sorted(family.artifacts.items()):
        name = printable(artifact.name).replace("\\", "\\\\").replace('"', '\\"')
        style = ", penwidth=2" if key == family.center else ""
        lines.append(f'  a{key} [label="{name}\\n{artifact.kind.value}, {state_of(artifact).value}"{style}];')
    lines += [f'  a{e.parent_id} -> a{e.child_id} [label="{e.role.value}"];' for e in _ordered(family.edges)]
    return "\n".join([*lines, "}"])


def lineage_mermaid(family: Family) -> str:
    """Return the family as a mermaid flowchart, as GitHub draws it."""
    lines = ["flowchart TD"]
    for key, artifact in sorted(family.artifacts.items()):
        name = printable(artifact.name).replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
        lines.append(f'  a{key}["{name}<br/>{artifact.kind.value}, {state_of(artifact).value}"]')
    lines += [f"  a{e.parent_id} -->|{e.role.value}| a{e.child_id}" for e in _ordered(family.edges)]
    return "\n".join(lines)


def lineage_payload(family: Family) -> dict[str, Any]:
    """Return the family as JSON."""
    names = {key: artifact.name for key, artifact in family.artifacts.items()}
    return {
        "name": names[family.center],
        "artifacts": [
            {"name": a.name, "kind": a.kind.value, "state": state_of(a).value, "allocated_bytes": a.allocated_bytes}
            for _, a in sorted(family.artifacts.items())
        ],
        "edges": [
            {
                "child": names[e.child_id],
                "parent": names[e.parent_id],
                "role": e.role.value,
                "needs_parent": e.role.needs_parent,
            }
            for e in _ordered(family.edges)
        ],
    }


def _branch(family: Family, title: str, *, upward: bool) -> list[str]:
    """Return the relatives on one side. A stack instead of recursion: a chain of resumed runs can be long."""
    lines: list[str] = []
    seen = {family.center}
    waiting = _near(family, family.center, upward=upward, indent="  ")
    while waiting:
        relative = waiting.pop()
        again = relative.artifact_id in seen
        branch = "└─" if relative.is_last else "├─"
        words = f"{_described(family.artifacts[relative.artifact_id])}  [{relative.role.value}]"
        lines.append(f"{relative.indent}{branch} {words}{'  (shown above)' if again else ''}")
        if not again:
            seen.add(relative.artifact_id)
            deeper = relative.indent + ("   " if relative.is_last else "│  ")
            waiting += _near(family, relative.artifact_id, upward=upward, indent=deeper)
    return [title, *lines] if lines else [f"{title}: nothing recorded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relative:
    artifact_id: int
    role: LineageRole
    indent: str
    is_last: bool


def _near(family: Family, key: int, *, upward: bool, indent: str) -> list[_Relative]:
    """Return the direct relatives of `key` on one side, the one to draw first at the end."""
    found = [
        (edge.parent_id if upward else edge.child_id, edge.role)
        for edge in _ordered(family.edges)
        if (edge.child_id if upward else edge.parent_id) == key
    ]
    return [
        _Relative(artifact_id=other, role=role, indent=indent, is_last=index == len(found) - 1)
        for index, (other, role) in reversed(list(enumerate(found)))
    ]


def _described(artifact: Artifact) -> str:
    size = f", {format_bytes(artifact.allocated_bytes)}" if artifact.allocated_bytes else ""
    return f"{printable(artifact.name)}  {artifact.kind.value}, {state_of(artifact).value}{size}"


def _ordered(edges: Sequence[LineageEdge]) -> list[LineageEdge]:
    return sorted(edges, key=lambda edge: (edge.parent_id, edge.child_id, edge.role.value))
