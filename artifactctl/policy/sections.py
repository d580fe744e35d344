"""What every mapping in a policy file has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A mapping in the file: exact types, no unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
