"""What the shipped default means, worked out ahead: reading a policy loads pydantic and a YAML parser.

That is a third of the time of `artifactctl rescue` and `doctor`, which are typed while a disk fills up. The value holds
for exactly the bytes it was worked out from; a file with any other content is read.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from artifactctl.policy.ruleset import Limits, Matcher, Place, Policy, Rule

FILE = "policies/default.yaml"
SHA256 = "5468bf9392c2979017e5fd4289122f6f39a849a8f37a386c63fecb95e3ae2c63"

MEANING = Policy(
    name="default",
    limits=Limits(max_bytes=20 << 40, max_artifacts=500),
    rules=(
        Rule(
            name="superseded",
            description="Something verified has taken its place.",
            match=Matcher(superseded=True, successor_verified=True),
            place=Place(file=FILE, line=22, column=5),
        ),
        Rule(
            name="rebuildable",
            description="How it was made is recorded, and everything that it was made from is still there.",
            match=Matcher(rebuildable=True),
            place=Place(file=FILE, line=26, column=5),
        ),
    ),
    min_age=timedelta(0),
    quiet_time=timedelta(minutes=15),
    grace=timedelta(days=7),
)


def meaning_read_ahead(files: Sequence[tuple[str, str | bytes]]) -> Policy | None:
    """Return what the files (name, content) mean where they are the shipped default alone, None for all others."""
    if len(files) != 1 or files[0][0] != FILE:
        return None
    content = files[0][1]
    raw = content.encode("utf-8") if isinstance(content, str) else content
    return MEANING if hashlib.sha256(raw).hexdigest() == SHA256 else None
