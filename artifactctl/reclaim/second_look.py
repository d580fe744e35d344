"""Step 6 of the deletion protocol: the look at what lies in quarantine, when no new opener can come by the old path."""

from artifactctl.domain.artifacts import Replica
from artifactctl.domain.errors import Refused
from artifactctl.domain.verdicts import Evidence
from artifactctl.guards import evaluate
from artifactctl.guards.not_held import NotHeld
from artifactctl.guards.unchanged import Unchanged
from artifactctl.inventory.candidates import Choice, candidate_for
from artifactctl.inventory.kinship import Freshness
from artifactctl.inventory.rulings import Ruling
from artifactctl.reclaim.survey import look_quarantined
from artifactctl.reclaim.workplace import Workplace


def second_look(workplace: Workplace, replica: Replica, operation: str, fingerprint: str) -> tuple[Evidence, ...]:
    """Look at what lies in quarantine and return the evidence that speaks against leaving it there (step 6)."""
    with workplace.catalog.reading() as reading:
        artifact = reading.artifact_by_id(replica.artifact_id)
        if artifact is None:
            raise Refused(f"the catalog does not know replica {replica.replica_id}")
        seen = look_quarantined(workplace.host, reading, replica, operation)
        seen = workplace.asked_everywhere(reading, replica.root, seen)
        candidate = candidate_for(
            reading,
            artifact,
            replica,
            choice=Choice(named=True, planned_fingerprint=fingerprint),
            ruling=Ruling(quiet_time=workplace.policy.quiet_time),
            fresh=Freshness(fingerprints={}),
            trust=workplace.trust(reading),
            now=workplace.clock(),
        )
        evidence = evaluate((NotHeld(), Unchanged()), candidate, seen)
    return tuple(item for item in evidence if not item.permits_removal)
