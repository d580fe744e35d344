"""How a policy file is written: every section with its keys, as models that refuse everything else.

What the values mean together is `ruleset.py`; `meaning.py` leads from here to there.
"""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from artifactctl.policy import words
from artifactctl.policy.fixtures import TestEntry
from artifactctl.policy.sections import Section
from artifactctl.policy.words import refuse

Description = Annotated[str, Field(description="What it is for, in plain words.")]
Count = Annotated[int, Field(ge=1)]
Cap = Annotated[int, Field(ge=0)]
PolicyName = Annotated[words.Text, Field(max_length=200)]

_SAYS_SOMETHING = ConfigDict(json_schema_extra={"minProperties": 1})
_EMPTY_GROUPS_OF_EVERY = ConfigDict(
    json_schema_extra={
        "if": {"properties": {"allow_empty_groups": {"const": True}}, "required": ["allow_empty_groups"]},
        "then": {"properties": {"keep": {"required": ["every"]}}, "required": ["keep"]},
    }
)


class Defaults(Section):
    """What holds for every rule of the file, and how long things wait."""

    action: words.ActionWord | None = Field(default=None, description="What rules do that name no action themselves.")
    quarantine: words.Duration | None = Field(
        default=None, description="How long what was set aside can be restored (7d)."
    )
    min_age: words.Duration | None = Field(default=None, description="Nothing younger than this is ever offered (0s).")
    quiet_time: words.Duration | None = Field(
        default=None, description="How long nothing may have changed on disk (15m)."
    )


class PerDay(Section):
    """Bounds on everything that one day (UTC) may take."""

    max_bytes: words.Size | None = Field(default=None, description="At most so many bytes a day.")
    max_artifacts: Cap | None = Field(default=None, description="At most so many artifacts a day.")


class Limits(Section):
    """Bounds on a whole run; exceeding one refuses the run, nothing is trimmed."""

    max_bytes: words.Size = Field(description="At most so many bytes a run.")
    max_artifacts: Cap = Field(description="At most so many artifacts a run.")
    max_share_of_kind: words.Share | None = Field(
        default=None, description="At most this share of the artifacts of a kind."
    )
    approval_above: words.Size | None = Field(
        default=None, description="Above this, somebody else must approve the plan."
    )
    approval_on_jump: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = Field(
        default=None, description="So many times what the last runs took needs an approval too."
    )
    per_day: PerDay | None = Field(default=None, description="Bounds on a day.")


class Tags(Section):
    """Tags an artifact must carry; patterns."""

    model_config = _SAYS_SOMETHING

    any_of: words.Patterns | None = Field(default=None, alias="any", description="At least one of these.")
    all_of: words.Patterns | None = Field(default=None, alias="all", description="Every one of these.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.model_fields_set:
            raise refuse(words.WORD, "say which tags: any, or all")
        return self


class Match(Section):
    """Conditions that must all hold. Names, paths, tags and label values are patterns: `*` `**` `?`."""

    model_config = _SAYS_SOMETHING

    kind: words.Kinds | None = Field(default=None, description="One of these kinds.")
    name: words.Patterns | None = Field(default=None, description="The artifact's name.")
    path: words.Patterns | None = Field(default=None, description="Where its first copy lies.")
    root: words.Patterns | None = Field(default=None, description="The managed root it lies in.")
    labels: dict[words.Text, words.Patterns] | None = Field(default=None, description="Values of labels, by label.")
    tags: Tags | None = Field(default=None, description="Tags it carries.")
    pinned: bool | None = Field(default=None, description="Whether somebody holds it.")
    superseded: bool | None = Field(default=None, description="Whether a successor is recorded.")
    successor_verified: bool | None = Field(default=None, description="Whether the successor lives and is verified.")
    rebuildable: bool | None = Field(default=None, description="Whether its recipe is recorded and all inputs live.")
    complete: bool | None = Field(default=None, description="Whether its writer said that it is finished.")
    verified: bool | None = Field(default=None, description="Whether a copy passed verify since its last change.")
    producer_state: words.ProducerStates | None = Field(
        default=None, alias="producer.state", description="How the run ended that made it."
    )
    older_than: words.Duration | None = Field(default=None, description="Created longer ago than this.")
    newer_than: words.Duration | None = Field(default=None, description="Created less long ago than this.")
    larger_than: words.Size | None = Field(default=None, description="More bytes on disk than this.")
    smaller_than: words.Size | None = Field(default=None, description="Fewer bytes on disk than this.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.model_fields_set or self.labels == {}:
            raise refuse(words.WORD, "this matches everything; say what is meant (`name: '**'` for really everything)")
        return self


class KeepLast(Section):
    """Keep the newest of each group."""

    n: Count = Field(description="How many of each group.")
    group_by: Annotated[tuple[words.GroupField, ...], Field(min_length=1)] = Field(description="What makes a group.")


class KeepBest(KeepLast):
    """Keep the best of each group by a metric."""

    metric: words.Text = Field(description="The metric that is compared.")
    mode: words.Mode = Field(description="Whether more (max) or less (min) of it is better.")


class KeepEvery(Section):
    """Keep every checkpoint whose step is a multiple."""

    steps: Count = Field(description="The multiple.")


class NeededBy(Section):
    """Keep what a living artifact came from."""

    kind: words.Kinds | None = Field(default=None, description="The kinds of child that count (any).")
    relation: words.RelationWord = Field(default=words.DERIVED_FROM, description="How the child came from it.")


class Keep(Section):
    """Reasons to keep: any one of them keeps."""

    last: KeepLast | None = Field(default=None, description="The newest of each group.")
    best: KeepBest | None = Field(default=None, description="The best of each group by a metric.")
    every: KeepEvery | None = Field(default=None, description="Every so many steps.")
    newer_than: words.Duration | None = Field(default=None, description="Created less long ago than this.")
    needed_by: NeededBy | None = Field(default=None, description="A living artifact came from it.")


class Successor(Section):
    """Something that came out of it must live."""

    kind: words.Kinds | None = Field(default=None, description="The kinds that count (any).")
    relation: words.RelationWord = Field(description="How it came out: derived_from, supersedes or a lineage role.")
    verified: bool = Field(default=True, description="Whether it must have passed verify since its last change.")


class Require(Section):
    """What must all hold before anything goes."""

    successor: Successor | None = Field(default=None, description="Something that came out of it lives.")
    rebuildable: bool = Field(default=False, description="Its recipe is recorded and all inputs live.")
    min_copies: Cap = Field(default=0, description="Verified copies that must be left when one has gone.")


class ProtectEntry(Section):
    """What may not go, whatever the rules say."""

    name: words.EntryName = Field(description="What reports call it: protect.NAME.")
    reason: Annotated[words.Line, Field(min_length=8)] = Field(description="Why, for the reviewer.")
    match: Match = Field(description="What is protected.")
    expires: words.Instant | None = Field(default=None, description="Until when.")


class RuleEntry(Section):
    """What may go, unless something keeps it. The first rule that matches an artifact decides."""

    model_config = _EMPTY_GROUPS_OF_EVERY

    name: words.EntryName = Field(description="What reports call it: rule.NAME.")
    description: Description = ""
    match: Match = Field(description="What the rule is about.")
    keep: Keep = Field(default=Keep(), description="Any of these keeps.")
    require: Require = Field(default=Require(), description="All of these must hold before it goes.")
    action: words.ActionWord | None = Field(default=None, description="What becomes of it.")
    allow_empty_groups: bool = Field(
        default=False,
        description="Whether a run of which keep.every keeps nothing may go whole (else its newest stays).",
    )

    @field_validator("allow_empty_groups")
    @classmethod
    def _says_something(cls, value: object, info: ValidationInfo) -> object:
        keep = info.data.get("keep")
        if value and keep is not None and keep.every is None:
            raise refuse(
                words.WORD,
                "only `keep.every` can leave nothing of a run; remove it: `last` and `best` always leave one",
            )
        return value


class PolicyDocument(Section):
    """Retention for training artifacts: what is protected, what may go, how much at once."""

    schema_name: Literal["artifactctl/policy/v1"] = Field(alias="schema", description="The version of this format.")
    name: PolicyName = Field(description="What plans and reports call the policy.")
    owner: words.Line = Field(default="", description="Who approves; printed in plans and notices.")
    description: Description = ""
    defaults: Defaults = Field(default=Defaults(), description="What holds where a rule says nothing.")
    limits: Limits = Field(description="Bounds on a whole run.")
    protect: tuple[ProtectEntry, ...] = Field(default=(), description="A union: any match wins over every rule.")
    rules: tuple[RuleEntry, ...] = Field(default=(), description="In order: the first that matches decides.")
    tests: tuple[TestEntry, ...] = Field(default=(), description="Run by `artifactctl policy test`.")
