"""What the catalog alone says about a removal, for answers that must not wait for a look at the machine.

It is necessary and never sufficient: every other guard would say `unknown` to an observation of nothing.
"""

from datetime import datetime

from artifactctl.domain.observation import Confinement, HolderReport, MarkerState, Observation
from artifactctl.domain.verdicts import may_remove
from artifactctl.guards.candidate import Candidate, Guard
from artifactctl.guards.in_policy import InPolicy
from artifactctl.guards.no_hold import NoHold
from artifactctl.guards.no_live_descendant import NoLiveDescendant
from artifactctl.guards.recoverable import Recoverable
from artifactctl.guards.standard import evaluate
from artifactctl.guards.successor_verified import SuccessorVerified
from artifactctl.guards.unleased import Unleased
from artifactctl.guards.unprotected import Unprotected


def catalog_guards() -> tuple[Guard, ...]:
    """Return the guards whose evidence lies in the catalog (a `flock` is seen on the machine only)."""
    return (Unleased(), NoHold(), Unprotected(), NoLiveDescendant(), Recoverable(), SuccessorVerified(), InPolicy())


def catalog_permits(candidate: Candidate, *, now: datetime) -> bool:
    """Whether nothing that the catalog knows speaks against removing the candidate."""
    return may_remove(evaluate(catalog_guards(), candidate, _nothing_seen(candidate, now)))


def _nothing_seen(candidate: Candidate, now: datetime) -> Observation:
    root = candidate.replica.root
    return Observation(
        taken_at=now,
        host_time=now,
        path=root.path.rstrip(b"/") + b"/" + candidate.replica.relative,
        identity=None,
        is_directory=candidate.replica.is_directory,
        confinement=Confinement(
            marker=MarkerState.UNREADABLE,
            marker_detail="nobody looked",
            filesystem_uuid="",
            filesystem_type="",
            symlinked_component=None,
            mounts=(),
            mounts_complete=False,
        ),
        tree=None,
        holders=HolderReport(
            holders=(),
            blind_spots=(),
            processes_inspected=0,
            lease_candidates=0,
            leases_granted=0,
            lease_answers_for_all_openers=False,
        ),
        obstacles=(),
        referrer_problems=("nobody looked",),
        problems=("nobody looked",),
    )
