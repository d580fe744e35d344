"""What only a person can answer on the way to another machine: is this its key, and what is the passphrase of ours."""

import getpass
from typing import TYPE_CHECKING

from artifactctl.domain.text import printable

if TYPE_CHECKING:
    from artifactctl.cli.wiring import Wiring
    from artifactctl.hosts.ssh.failures import HostKeyUnknown
    from artifactctl.inventory.introducing import Way


def way_to_machines(wiring: "Wiring") -> "Way":
    """Return how this command line gets to machines; without a terminal nobody is asked anything."""
    from artifactctl.inventory.introducing import Way

    def accept_key(unknown: "HostKeyUnknown") -> None:
        question = f"{unknown.message}.\nCompare it with what the machine itself, or whoever runs it, says."
        wiring.dialogue.typed(question, "yes", yes_counts=False, otherwise=unknown.remedy)

    def ask_passphrase(file: str) -> str:
        return getpass.getpass(f"Passphrase of {printable(file)} (empty: leave it): ")

    return Way(
        environment=wiring.surroundings.environment,
        accept_key=accept_key,
        ask_passphrase=ask_passphrase if wiring.dialogue.has_terminal else None,
    )
