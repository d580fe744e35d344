"""What limits look back at, as this catalog tells it."""

from datetime import UTC, datetime, timedelta

from artifactctl.catalog import Reading
from artifactctl.policy.capping import Past
from artifactctl.reclaim.bounds import RUNS_COMPARED


def past_of(reading: Reading, *, now: datetime, without: str = "") -> Past:
    """Return how much went today (UTC), how much in the last runs but for the plan `without`, and what lives."""
    midnight = midnight_before(now)
    return Past(
        today=reading.taken_between(midnight, midnight + timedelta(days=1)),
        last_runs=reading.last_runs(RUNS_COMPARED, without=without),
        living=reading.live_by_kind(),
    )


def midnight_before(now: datetime) -> datetime:
    """Return when the day (UTC) began that limits of a day are about."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
