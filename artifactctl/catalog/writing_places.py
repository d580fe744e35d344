"""Changes of machines, roots and volumes."""

from collections.abc import Sequence

from artifactctl.catalog import (
    place_changes,
    root_leases,
)
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import (
    Root,
)
from artifactctl.domain.ledger import KnownHost, KnownVolume, RootLease


class PlaceWriting(Transaction):
    """Machines, roots and the right to change them, volumes."""

    def add_host(
        self,
        name: str,
        *,
        machine_id: str,
        address: str = "",
        host_key: str = "",
        uses_sudo: bool = False,
        own_keys: Sequence[str] = (),
    ) -> KnownHost:
        """Record a machine; NameTaken when the name is another's."""
        return place_changes.add_host(
            self,
            name,
            machine_id=machine_id,
            address=address,
            host_key=host_key,
            uses_sudo=uses_sudo,
            own_keys=own_keys,
        )

    def note_own_keys(self, host_id: int, own_keys: Sequence[str]) -> KnownHost:
        """Record by which keys a machine's own sshd proves who it is."""
        return place_changes.note_own_keys(self, host_id, own_keys)

    def give_address(self, host_id: int, *, address: str, host_key: str, uses_sudo: bool) -> KnownHost:
        """Record the way to a machine that had none."""
        return place_changes.give_address(self, host_id, address=address, host_key=host_key, uses_sudo=uses_sudo)

    def forget_host(self, host_id: int) -> None:
        """End the record of a machine; StateChanged while a root in use is on it."""
        place_changes.forget_host(self, host_id)

    def remember_host(self, host_id: int, *, address: str, uses_sudo: bool) -> KnownHost:
        """Take a forgotten machine back, which is reached in this way now."""
        return place_changes.remember_host(self, host_id, address=address, uses_sudo=uses_sudo)

    def add_root(self, root: Root) -> Root:
        """Record a managed root, or take a forgotten one back; NameTaken when another root has the name."""
        return place_changes.add_root(self, root)

    def update_root(self, root: Root) -> Root:
        """Record a root's new path, filesystem or attestation."""
        return place_changes.update_root(self, root)

    def forget_root(self, root_id: str) -> None:
        """Stop managing a root; StateChanged while operations on it are unfinished. Its rows stay."""
        place_changes.forget_root(self, root_id)

    def take_root(self, root_id: str, *, machine_id: str, above: int = 0) -> RootLease:
        """Take the right to change a root with a new, highest fence; the caller holds the root's lock on the machine.

        Busy when an operator on another machine has it and is at work.
        """
        return root_leases.take(self, root_id, machine_id=machine_id, above=above)

    def give_root_back(self, root_id: str, fence: int) -> None:
        """Release that right; nothing happens when somebody else has it by now."""
        root_leases.release(self, root_id, fence)

    def record_volume(self, volume: KnownVolume) -> None:
        """Record a filesystem as it was just seen."""
        place_changes.record_volume(self, volume)
