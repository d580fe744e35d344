"""The tests inside a policy file: made-up artifacts, an instant, and what must become of them.

A made-up artifact is in good order unless it says otherwise: live, complete, its copies and children verified.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from artifactctl.domain.artifacts import LineageRole
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.policy import words
from artifactctl.policy.ruleset import Action
from artifactctl.policy.sections import Section

KEEP = "keep"
_DECISIONS = (KEEP, *Action)


def _decision(value: object) -> str:
    if value in _DECISIONS:
        return str(value)
    raise words.refuse(words.WORD, f"`{value}` is not a decision; {did_you_mean(str(value), _DECISIONS)}")


def _role(value: object) -> LineageRole:
    if value in list(LineageRole):
        return LineageRole(str(value))
    raise words.refuse(words.WORD, f"`{value}` is not a lineage role; {did_you_mean(str(value), LineageRole)}")


Number = Annotated[float, Field(allow_inf_nan=False)]
DecisionWord = Annotated[
    str, BeforeValidator(_decision), WithJsonSchema({"enum": [str(decision) for decision in _DECISIONS]})
]
Role = Annotated[LineageRole, BeforeValidator(_role)]


class GivenChild(Section):
    """Something made from the artifact at hand."""

    kind: words.Kind = Field(description="Its kind.")
    relation: Role = Field(description="Its lineage role, such as trained_on.")
    name: words.Line = Field(default="child", description="Its name.")
    living: bool = Field(default=True, description="Whether it has a live copy.")
    verified: bool = Field(default=True, description="Whether that copy passed verify.")


class GivenArtifact(Section):
    """One made-up artifact."""

    id: words.Text = Field(description="What `expect` calls it; its name, too, unless `name` is given.")
    kind: words.Kind = Field(description="Its kind.")
    age: words.Duration = Field(description="How long before `now` it was created.")
    name: words.Line = Field(default="", description="Its name.")
    path: words.Line = Field(default="", description="Where its first copy lies.")
    root: words.Line = Field(default="", description="The root it lies in.")
    size: words.Size = Field(default=0, description="Bytes on disk.")
    copies: Annotated[int, Field(ge=0)] = Field(default=1, description="Live copies.")
    verified_copies: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Verified ones among them (all)."
    )
    live: bool = Field(default=True, description="Whether it has a live copy and none that is moving.")
    complete: bool = Field(default=True, description="Whether its writer said that it is finished.")
    pinned: bool = Field(default=False, description="Whether somebody holds it.")
    leased: bool = Field(default=False, description="Whether it is in use.")
    run: words.Line = Field(default="", description="The run that made it.")
    producer_state: words.ProducerState | None = Field(
        default=None, alias="producer.state", description="How that run ended."
    )
    input_of_unfinished_run: bool = Field(default=False, description="Whether a run that has not ended reads it.")
    superseded: bool = Field(default=False, description="Whether a successor is recorded.")
    successor_kind: words.Kind | None = Field(default=None, description="The successor's kind (its own).")
    successor_verified: bool = Field(default=False, description="Whether the successor lives and is verified.")
    rebuildable: bool = Field(default=False, description="Whether its recipe is recorded and all inputs live.")
    step: Annotated[int, Field(ge=0)] | None = Field(default=None, description="The training step.")
    tags: words.Words = Field(default=(), description="Its tags, one or a list.")
    labels: dict[str, str] = Field(default={}, description="Its labels.")
    metrics: dict[str, Number] = Field(default={}, description="Its metrics.")
    children: tuple[GivenChild, ...] = Field(default=(), description="What was made from it.")


class Expected(Section):
    """What must become of one artifact."""

    decision: DecisionWord = Field(description="keep, or the action.")
    because: words.Text | None = Field(default=None, description="The word for why, such as keep.best or rule.NAME.")
    rule: words.Text | None = Field(default=None, description="The rule that must match first.")


class TestEntry(Section):
    """One test: the world, the instant, and what must come out."""

    __test__ = False  # pytest must not take it for one of its own

    name: words.Text = Field(description="A sentence.")
    now: words.Instant = Field(description="The instant of the evaluation.")
    given: Annotated[tuple[GivenArtifact, ...], Field(min_length=1)] = Field(description="The whole catalog.")
    expect: Annotated[dict[str, Expected], Field(min_length=1)] = Field(description="By id, what must come out.")
