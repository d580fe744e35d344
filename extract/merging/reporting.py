"""What a merge and a check say: JSON fields and lines."""

import os
from collections.abc import Iterator
from typing import Any

from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.text import printable
from extract.answering import json_path
from extract.merging.checking import MergeCheck
from extract.merging.matching import Outcome
from extract.merging.merge import Merged

MOST_SHOWN = 20


def merge_payload(merged: Merged, artifact: Artifact) -> dict[str, Any]:
    """Return the fields of `artifactctl.extract_merge/1`."""
    said = merged.manifest["merge"]
    return {
        "name": artifact.name,
        **json_path(str(merged.place.absolute())),
        "records": merged.manifest["records"],
        "tokens": merged.manifest["tokens"],
        "loss_tokens": said["loss_tokens"],
        "seed": said["seed"],
        "tokenizer_digest": said["tokenizer"]["digest"],
        "template_digest": said["template_digest"],
        "is_new": merged.is_new,
        "sources": [{**each, **json_path(each["path"])} for each in said["sources"]],
        "unreadable": [
            {**json_path(each.path), "line": each.line, "problem": each.problem} for each in merged.unreadable
        ],
    }


def merge_lines(merged: Merged, artifact: Artifact) -> list[str]:
    """Return the answer as people read it."""
    content = merged.manifest
    state = "holds" if merged.is_new else "was there already and holds"
    lines = [
        f"{artifact.name} {state} {content['records']:,} records and {content['tokens']:,} tokens, "
        f"{content['merge']['loss_tokens']:,} of them under the loss mask"
    ]
    for source in content["merge"]["sources"]:
        reasons = "".join(f", {count:,} {reason}" for reason, count in source["dropped"].items())
        cut = f" ({source['truncated']:,} cut)" if source["truncated"] else ""
        lines.append(f"  {printable(source['path'])}: {source['read']:,} read = {source['kept']:,} kept{cut}{reasons}")
    return lines


def unreadable_lines(merged: Merged) -> Iterator[str]:
    """Yield what is said of records that could not be read."""
    for each in merged.unreadable[:MOST_SHOWN]:
        yield printable(f"unreadable: {each}")
    more = merged.unreadable_records - min(len(merged.unreadable), MOST_SHOWN)
    if more:
        yield f"unreadable: {more:,} {'more ' if merged.unreadable else ''}in {merged.place / 'unreadable.txt'}"


def check_payload(check: MergeCheck) -> dict[str, Any]:
    """Return the fields of `artifactctl.extract_merge_check/1`."""
    return {
        "ok": check.is_whole,
        "records": check.records,
        "doubled": check.doubled,
        "of_no_source": check.of_no_source,
        "sources": [
            {
                **json_path(os.fsdecode(os.fsencode(each.source.path))),
                "read": each.read,
                **{outcome.value: each.outcomes[outcome] for outcome in Outcome},
                "left_out": {reason.value: count for reason, count in sorted(each.left_out.items())},
            }
            for each in check.sources
        ],
        "examples": [{"what": each.what, **json_path(each.path), "line": each.line} for each in check.examples],
    }


def check_lines(check: MergeCheck) -> list[str]:
    """Return the answer as people read it."""
    verdict = "all that the sources hold, once" if check.is_whole else "not what the sources hold"
    lines = [f"{check.records:,} records: {verdict}"]
    for each in check.sources:
        counts = [f"{each.outcomes[outcome]:,} {outcome.value}" for outcome in Outcome]
        counts += [f"{count:,} left out ({reason.value})" for reason, count in sorted(each.left_out.items())]
        lines.append(f"  {each.source.label}: {each.read:,} read = {', '.join(counts)}")
    if check.doubled:
        lines.append(f"  {check.doubled:,} are there once more than they should be")
    if check.of_no_source:
        lines.append(f"  {check.of_no_source:,} come from none of these sources")
    return [*lines, *(f"  {each.what}: {printable(each.path)}:{each.line}" for each in check.examples)]
