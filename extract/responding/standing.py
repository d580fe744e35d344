"""What stands at the place already: nothing, a set that grows, or one that is complete."""

import json
from pathlib import Path

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState
from artifactctl.domain.errors import Refused, UsageError
from extract.responding.outcome import Responded
from extract.responding.prompts import short_key
from extract.responding.settings import differences
from extract.responding.spending import Usage
from extract.responding.wanting import Wanted, tally_of
from extract.responding.workplace import MANIFEST, RESPONSES


def sealed_at(session: Session, place: Path) -> Artifact | None:
    """Return the artifact that is complete at the place; None when there is none, or it is being built."""
    try:
        known = session.artifact(str(place.absolute()))
    except UsageError:
        return None
    return known if any(replica.state is ReplicaState.LIVE for replica in known.replicas) else None


def announced(session: Session, wanted: Wanted, parents: list[str]) -> Artifact:
    """Return the artifact that is being built at the place, announced now or by an earlier run."""
    try:
        known = session.artifact(str(wanted.out.absolute()))
    except UsageError:
        wanted.out.mkdir(parents=True, exist_ok=True)
        return session.register(
            wanted.out,
            kind=ArtifactKind.RESPONSE_SET,
            name=wanted.name,
            inputs=[f"{parent}:{LineageRole.EXTRACTED_FROM.value}" for parent in parents],
            labels={"server_model": wanted.settings.model},
            building=True,
        )
    if known.kind is not ArtifactKind.RESPONSE_SET:
        raise Refused(f"{known.name}, a {known.kind.value}, is being made there", remedy="give another --out")
    if any(replica.state is ReplicaState.BUILDING for replica in known.replicas):
        return known
    raise Refused(f"{known.name} lies there and is not being written", remedy=f"artifactctl show {known.name}")


def standing(sealed: Artifact, wanted: Wanted) -> Responded:
    """Return what a complete set says, when it has an answer to every prompt; Refused otherwise."""
    try:
        said = json.loads((wanted.out / MANIFEST).read_bytes())["respond"]["settings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{sealed.name} lies there, and was not made by responding", remedy="give another --out"
        ) from error
    if said != wanted.settings.as_json():
        told = "; ".join(differences(wanted.settings.as_json(), said))
        raise Refused(f"{sealed.name} was made with other settings: {told}", remedy="give another --out")
    answered, usage = _answered_in(wanted.out / RESPONSES)
    tally = tally_of(wanted)
    pending = len(tally.keys - answered)
    missing = pending + len(tally.unreadable)
    if pending and not wanted.accept_holes:
        raise Refused(
            f"{sealed.name} is complete, and has no answer to {pending:,} of these prompts",
            remedy="give another --out for them: `artifactctl extract merge` takes several response sets",
        )
    return Responded(
        artifact=sealed,
        tally=tally,
        usage=usage,
        answered_now=0,
        unanswered=missing,
        tried=missing,
        holes=(),
        seconds=0.0,
        tokens_now=0,
        stop=None,
    )


def _answered_in(file: Path) -> tuple[set[bytes], Usage]:
    answered, usage = set(), Usage()
    with open(file, "rb") as lines:
        for line in lines:
            record = json.loads(line)
            answered.add(short_key(record["prompt_key"]))
            usage.add(record)
    return answered, usage
