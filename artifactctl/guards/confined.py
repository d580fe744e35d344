"""`confined`: the target is really where the catalog says, alone on the recorded filesystem."""

from typing import ClassVar

from artifactctl.domain.observation import MarkerState, Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class Confined:
    """Blocks a target that is gone, reached through a link, on another filesystem, or that has a mount at or below it.

    Bind mounts of the same filesystem count (invariant I2). Links inside the target that lead outside of it block too;
    links that stay inside are members and are unlinked, never followed.
    """

    name: ClassVar[str] = "confined"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked for the first thing that leads out of the root, unknown when we could not look."""
        place = observation.confinement
        root = candidate.replica.root
        if not root.is_managed:
            return self._no(
                f"the root `{root.name}` was forgotten: nothing below it is removed",
                Verdict.BLOCKED,
                ("root", "forgotten"),
                remedy=f"`artifactctl root add {display_path(root.path)}` takes it back",
            )
        if not root.is_marked:
            return self._no(
                f"other machines may mount the volume of `{root.name}`: it is read-only until somebody states which",
                Verdict.BLOCKED,
                ("marker", "none"),
                remedy=f"`artifactctl root attest {root.name} --sole-clients MACHINE,...` (or --lease)",
            )
        if place.marker is not MarkerState.MATCHES:
            unreadable = place.marker is MarkerState.UNREADABLE
            foreign = place.marker is MarkerState.FOREIGN
            return self._no(
                f"the marker of root `{root.name}` is {place.marker.value}: {place.marker_detail}",
                Verdict.UNKNOWN if unreadable else Verdict.BLOCKED,
                ("marker", place.marker.value),
                remedy="`artifactctl doctor` explains it; `artifactctl doctor --repair` confirms a restored catalog"
                if foreign
                else "run the same command with sudo, or as the account that added the root"
                if unreadable
                else "mount the volume, or look at it with `artifactctl doctor`",
            )
        if place.symlinked_component is not None:
            link = display_path(place.symlinked_component)
            return self._no(f"the path goes through the symbolic link {link}", Verdict.BLOCKED, ("link", link))
        if observation.identity is None:
            return self._no(
                "nothing is at the path", Verdict.BLOCKED, ("absent", "yes"), remedy="run `artifactctl scan`"
            )
        if place.filesystem_uuid != root.filesystem_uuid:
            return self._no(
                f"the filesystem there is {place.filesystem_uuid or 'unidentified'}, not {root.filesystem_uuid}",
                Verdict.BLOCKED,
                ("filesystem", place.filesystem_uuid),
                remedy="mount the volume that the catalog knows, or add this one as a root of its own",
            )
        return self._inside(observation)

    def _inside(self, observation: Observation) -> Evidence:
        place = observation.confinement
        if place.other_roots:
            where = display_path(place.other_roots[0])
            return self._no(
                f"{where} is, or holds the quarantine of, another managed root, whose holds and leases count as well",
                Verdict.BLOCKED,
                ("other_root", where),
                remedy="ask that root's catalog; where nobody manages it any more, look into its .artifactctl folder "
                "and remove that",
            )
        if place.mounts:
            where = display_path(place.mounts[0].relative) if place.mounts[0].relative else "the target itself"
            return self._no(
                f"{place.mounts[0].source} is mounted at {where}"
                + (f" (and {len(place.mounts) - 1} more)" if len(place.mounts) > 1 else ""),
                Verdict.BLOCKED,
                ("mount", where),
                remedy="unmount it first",
            )
        if not place.mounts_complete:
            return self._no("the mount table could not be read", Verdict.UNKNOWN, ("mounts", "unread"))
        if observation.tree is not None and observation.tree.escaping_links:
            link, target = observation.tree.escaping_links[0]
            return self._no(
                f"the link {display_path(link)} inside leads outside, to {display_path(target)}",
                Verdict.BLOCKED,
                ("link", display_path(link)),
                remedy="remove or move that link; it is not part of the artifact",
            )
        return Evidence(
            guard=self.name,
            verdict=Verdict.CLEAR,
            reason="below its root, on the recorded filesystem, no mount at or below it",
            facts=(("filesystem", place.filesystem_uuid),),
        )

    def _no(self, reason: str, verdict: Verdict, fact: tuple[str, str], *, remedy: str = "") -> Evidence:
        return Evidence(guard=self.name, verdict=verdict, reason=reason, facts=(fact,), remedy=remedy)
