"""`unchanged`: the content is what was planned and what the catalog says."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted, first_of


class Unchanged:
    """Blocks when members are missing or have other sizes than catalogued, when all of it was moved there since the
    catalog saw it, or when the fingerprint is not the plan's."""

    name: ClassVar[str] = "unchanged"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return unknown when the tree could not be read whole."""
        tree, drift = observation.tree, observation.drift
        if tree is None or drift is None or tree.problems:
            return Evidence(guard=self.name, verdict=Verdict.UNKNOWN, reason="the tree could not be read whole")
        if drift.missing or drift.resized:
            parts = []
            if drift.missing:
                parts.append(f"{counted(drift.missing, 'member')} missing: {_names(drift.missing_examples)}")
            if drift.resized:
                path, catalogued, found = drift.resized_examples[0]
                parts.append(
                    f"{counted(drift.resized, 'member')} of another size: {display_path(path)} has {found:,} bytes, "
                    f"the catalog says {catalogued:,}"
                )
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason="; ".join(parts),
                facts=(("missing", str(drift.missing)), ("resized", str(drift.resized))),
                remedy=f"look at it, then `artifactctl scan --accept {candidate.artifact.name}` if that is right",
            )
        planned = candidate.planned_fingerprint
        # What was planned was judged then; after our own rename everything lately came to where it lies.
        if planned != tree.fingerprint and candidate.is_moved_here(tree):
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"another folder was moved into its place at {tree.placed_at:%Y-%m-%d %H:%M:%S} UTC: what lies "
                "there bears the names and sizes of the catalog and is not what it saw",
                facts=(("seen", candidate.replica.fingerprint), ("found", tree.fingerprint)),
                remedy="look at it; `artifactctl scan` takes it for what it is called, if that is right",
            )
        if planned is not None and planned != tree.fingerprint:
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"something below changed since the plan; the newest change is in {_where(tree.changed_path)}",
                facts=(("planned", planned), ("found", tree.fingerprint)),
                remedy=_remedy(candidate),
            )
        return Evidence(
            guard=self.name,
            verdict=Verdict.CLEAR,
            reason="sizes are the catalog's" + ("" if planned is None else ", content is as planned"),
            facts=(("fingerprint", tree.fingerprint),),
        )


def _names(paths: tuple[bytes, ...]) -> str:
    return first_of([display_path(path) for path in paths])


def _where(path: bytes) -> str:
    return display_path(path) if path else "the top folder"


def _remedy(candidate: Candidate) -> str:
    if not candidate.is_set_aside:
        return "plan again; somebody is working there"
    name = candidate.artifact.name
    return (
        f"`artifactctl quarantine restore {name}` puts it back, then look at it and reclaim it again (a crash amid the "
        "purge of something that shares files with it looks like this as well)"
    )
