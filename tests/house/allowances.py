"""Where a module outside hosts/probe may touch files, and why: only ever the tool's own, never managed storage.

An entry that is no longer needed fails the test, so the list stays as short as the truth.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """One call in one module, with the reason why what it touches is not managed storage."""

    module: str
    call: str
    reason: str


OWN_FILES: tuple[Allowance, ...] = (
    Allowance(
        module="artifactctl/demonstration/sparse_volume.py",
        call=".unlink",
        reason="the image of the demonstration's own volume, in the folder it made a moment before",
    ),
    Allowance(
        module="artifactctl/cli/saving.py",
        call=".replace",
        reason="a file of figures that a person asked for takes the place of its older self at once",
    ),
    Allowance(
        module="artifactctl/cli/saving.py",
        call=".unlink",
        reason="the half-written file of figures goes away when it could not be completed",
    ),
)
