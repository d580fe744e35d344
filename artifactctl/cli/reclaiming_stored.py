"""`reclaim URL`: a finished copy in an object store is removed there, while another verified one is left."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from artifactctl.cli.reclaim_choices import ReclaimChoices
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from artifactctl.domain.artifacts import Artifact
    from artifactctl.domain.verdicts import Evidence
    from artifactctl.hosts.protocol import Host
    from artifactctl.reclaim.stored_copies import StoredCopy


def names_store(names: Sequence[str]) -> bool:
    """Whether copies in object stores are named; UsageError when something else is named beside them."""
    urls = [name for name in names if "://" in name]
    if urls and len(urls) != len(names):
        raise UsageError(
            "copies in object stores are removed by a command of their own", remedy="name either URLs or artifacts"
        )
    return bool(urls)


def reclaim_stored(wiring: Wiring, wanted: ReclaimChoices, *, out: bytes | None, dry_run: bool) -> None:
    """Show what the checks say, ask, remove, and leave with the exit code."""
    from artifactctl.cli.reclaiming import workplace_of
    from artifactctl.domain.verdicts import may_remove
    from artifactctl.reclaim.stored_copies import judge_stored, remove_stored

    if out is not None or wanted.need is not None or wanted.for_plan is not None or wanted.waive or wanted.policy:
        raise UsageError(
            "a copy in an object store is in no plan: it frees nothing on a volume, and its checks cannot be waived",
            remedy=f"artifactctl reclaim {wanted.names[0]} --dry-run",
        )
    items = [_the_one_meant(wiring, word) for word in dict.fromkeys(wanted.names)]
    if not dry_run and not wanted.purge_now:
        raise UsageError(
            "nothing can be set aside in an object store: what goes there goes for good",
            remedy="look with --dry-run; --purge-now removes it",
        )
    works = [workplace_of(wiring, host=_machine_for(wiring, item.artifact)) for item in items]
    if dry_run:
        judged = [judge_stored(work, item) for work, item in zip(works, items, strict=True)]
        _answer(wiring, items, judged, done=False)
        raise SystemExit(int(ExitCode.DONE if all(map(may_remove, judged)) else ExitCode.REFUSED))
    reason = wiring.dialogue.reason("Why may it go?", then_confirmed=True)
    for item in items:
        wiring.output.note(f"  {item.artifact.name}  {item.address}")
    wiring.dialogue.typed("Remove it from the store for good?", "purge")
    judged = [remove_stored(work, item, reason=reason) for work, item in zip(works, items, strict=True)]
    _answer(wiring, items, judged, done=True)
    gone = [not evidence or may_remove(evidence) for evidence in judged]
    raise SystemExit(int(ExitCode.DONE if all(gone) else ExitCode.PARTLY_DONE if any(gone) else ExitCode.REFUSED))


def _the_one_meant(wiring: Wiring, word: str) -> "StoredCopy":
    from artifactctl.reclaim.stored_copies import stored_copies

    with wiring.catalog.reading() as reading:
        found = stored_copies(reading, word)
    if len(found) > 1:
        shown = "; ".join(f"{item.address} ({item.artifact.name})" for item in found[:5])
        raise UsageError(f"{word} holds {len(found)} copies", remedy=f"name the one you mean: {shown}")
    return found[0]


def _machine_for(wiring: Wiring, artifact: "Artifact") -> "Host":
    """Return the machine of a live copy, where there is one, else this one."""
    from artifactctl.domain.artifacts import ReplicaState

    for replica in artifact.replicas:
        if replica.state is ReplicaState.LIVE and replica.root.is_managed:
            with wiring.catalog.reading() as reading:
                return wiring.fleet.of_root(reading, replica.root)
    return wiring.host


def _answer(
    wiring: Wiring, items: "Sequence[StoredCopy]", judged: "Sequence[tuple[Evidence, ...]]", *, done: bool
) -> None:
    from artifactctl.report.stored_copies import stored_lines, stored_payload

    pairs = [
        (item.artifact.name, item.address, item.copy, evidence) for item, evidence in zip(items, judged, strict=True)
    ]
    wiring.output.answer(
        "stored-copies",
        payload=lambda: {"steps": [stored_payload(*pair, done=done) for pair in pairs]},
        text=lambda: [line for pair in pairs for line in stored_lines(*pair, done=done)],
    )
