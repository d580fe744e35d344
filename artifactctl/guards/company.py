"""What goes together: nothing in a plan may count on something else in it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from artifactctl.guards.candidate import Candidate


def kept_as_input(candidates: Iterable[Candidate]) -> Mapping[str, str]:
    """Return what stays because another one would be built again from it: its name, and the name of that one.

    The big derived thing goes, its small input does not. Somebody who names the input says otherwise, and so does a
    verified successor: what is superseded goes first, and what was built from it stays.
    """
    together = tuple(candidates)
    inputs = {item.name: c.artifact.name for c in together if c.recipe is not None for item in c.recipe.inputs}
    offered = {c.artifact.name for c in together if not (c.named_by_operator or c.goes_for_what_supersedes_it)}
    return {name: by for name, by in inputs.items() if name in offered}


def going_with(candidate: Candidate, names: Collection[str]) -> Candidate:
    """Return the candidate with those of its inputs and children, and its successor, marked that are among `names`.

    What replaces something that was built from it replaces nothing when it goes as well.
    """
    others = frozenset(names) - {candidate.artifact.name}
    recipe, successor = candidate.recipe, candidate.successor
    if recipe is not None:
        inputs = tuple(replace(i, in_same_plan=i.in_same_plan or i.name in others) for i in recipe.inputs)
        recipe = replace(recipe, inputs=inputs)
    if successor is not None:
        successor = replace(successor, in_same_plan=successor.in_same_plan or successor.name in others)
    children = tuple(replace(d, in_same_plan=d.in_same_plan or d.name in others) for d in candidate.dependents)
    removed = tuple(replace(c, replaced_by="") if c.replaced_by in others else c for c in candidate.rebuilt_from_this)
    return replace(candidate, recipe=recipe, successor=successor, dependents=children, rebuilt_from_this=removed)


def without_protect(candidate: Candidate) -> Candidate:
    """Return the candidate as if no protect covered it, for the question what goes together.

    Whoever protects one thing must not thereby let another go: the input of what is protected now stays as well, and
    what was built from it is no freer than before.
    """
    return replace(candidate, protect=None)
