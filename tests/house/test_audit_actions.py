"""The audit chain has one vocabulary: what is written there is an `AuditAction`, never a string made up on the spot."""

import ast
import re
from functools import cache

import pytest

from artifactctl.domain.audit import AuditAction
from tests.house.sources import modules, text_of

VOCABULARY = "artifactctl/domain/audit.py"
WRITERS = {
    "AuditEntry",
    "entry",
    "record",
    "audit_in",
    "_audit",
    "_entry",
    "_record",
    "change_state",
    "replace_members",
}

TELLING = WRITERS - {"_record", "record", "change_state", "replace_members"}
"""Those whose other positional arguments are never text."""


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module), filename=module)


def bare_actions(tree: ast.Module) -> list[str]:
    """Return where text stands for an action: a member's value written out, or any string given as `action`."""
    known = set(AuditAction)
    found = [
        f"{node.lineno}: {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in WRITERS:
            given = [word.value for word in node.keywords if word.arg == "action"]
            found += [f"{node.lineno}: {ast.unparse(each)}" for each in given if isinstance(each, _TEXT)]
            given = node.args if _called(node) in TELLING else []
            found += [f"{node.lineno}: {ast.unparse(each)}" for each in given if isinstance(each, _TEXT)]
    return found


_TEXT = (ast.Constant, ast.JoinedStr, ast.BinOp)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@pytest.mark.parametrize("module", [name for name in modules("artifactctl", "extract", "train") if name != VOCABULARY])
def test_no_audit_entry_is_written_with_a_bare_string(module):
    assert bare_actions(tree_of(module)) == []


@pytest.mark.parametrize(
    "source",
    [
        'AuditEntry(action="made.up")',
        'acting.entry("hold.add")',
        'recorder.audit_in(writing, "announced", name, place)',
        'acting.entry(f"hold.{verb}")',
        'recorder.change_state(copy, to=state, action="vanished")',
        'AuditEntry(action="hold." + verb)',
    ],
)
def test_a_bare_string_would_be_found(source):
    assert len(bare_actions(ast.parse(source))) >= 1


@pytest.mark.parametrize("action", AuditAction)
def test_every_action_is_a_noun_and_a_verb_and_says_what_it_means(action):
    (line,) = [each for each in text_of(VOCABULARY).splitlines() if f'= "{action.value}"' in each]

    assert re.fullmatch(r"[a-z]+\.[a-z_]+", action.value)
    assert re.search(r"  # \w.+", line)
    assert action.name == action.value.replace(".", "_").upper()


def test_every_action_is_written_somewhere():
    used = {
        node.attr
        for module in modules("artifactctl", "extract", "train")
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "AuditAction"
    }

    assert {action.name for action in AuditAction} - used == set()
