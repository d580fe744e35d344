"""`lease run`: the command, its leases, and the signs of life between them."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from artifactctl.domain.errors import ArtifactctlError
from artifactctl.inventory.finding import find_artifacts
from artifactctl.inventory.lease_run import prepare
from artifactctl.inventory.leasing import RENEW_EVERY, LeaseSet, release_leases, renew_leases, take_leases
from artifactctl.inventory.process_identity import identify_process

if TYPE_CHECKING:
    from artifactctl.cli.wiring import Wiring

RETRY_AFTER = timedelta(seconds=20)


def run_leased(wiring: "Wiring", names: Sequence[str], words: Sequence[str]) -> int:
    """Run the command under leases on the artifacts; return its exit code."""
    with wiring.catalog.reading() as reading:
        artifacts = find_artifacts(reading, names, here=wiring.here)
    identity, acting = wiring.host.identify(), wiring.acting
    command = prepare(words, wiring.surroundings.environment)
    try:
        holder = identify_process(command.pid, identity)
        assert holder is not None, "the process waits for us"
        held = take_leases(
            wiring.catalog,
            artifacts,
            owner=secrets.token_hex(16),
            holder=holder,
            command=command.shown,
            acting=acting,
        )
    except BaseException:
        command.give_up()
        raise
    try:
        command.let_go()
        return command.wait(every=RENEW_EVERY, sign_of_life=lambda: _sign_of_life(wiring, held))
    finally:
        release_leases(wiring.catalog, held, acting=wiring.acting_now())


def _sign_of_life(wiring: "Wiring", held: LeaseSet) -> timedelta:
    """Renew the leases; return when to renew them again. The command goes on even if that fails."""
    try:
        renew_leases(wiring.catalog, held, acting=wiring.acting_now())
    except ArtifactctlError as failure:
        wiring.output.warning(f"the leases could not be renewed: {failure.message}")
        return RETRY_AFTER
    return RENEW_EVERY
