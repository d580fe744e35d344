"""Machines that are not worked with any more. Their records stay, ended: what was done there names them for ever."""

from artifactctl import audit
from artifactctl.catalog import Catalog, Reading
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.attestation import Attestation
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.ledger import KnownHost
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.places import Here
from artifactctl.report.sizes import counted


class MachineInUse(Refused):
    """Something of the catalog still lies on the machine, or rests on its answers."""


def forget_machine(catalog: Catalog, name: str, *, here: Here, acting: Acting) -> KnownHost:
    """End the record of a machine, which need not answer any more; `host add` takes the same one back.

    MachineInUse while a root is on it, or it is one of those that are asked about somebody else's volume.
    """
    with catalog.writing(acting.actor, acting.now) as writing:
        known = writing.host(name)
        if known is None:
            near = did_you_mean(name, [each.name for each in writing.hosts()])
            raise UnknownObject(
                f"the catalog knows no machine `{name}`", remedy=near or "`artifactctl host ls` lists them"
            )
        if here.is_machine(known):
            raise UsageError(f"{name} is this machine", remedy="forget it from another one, if it goes away")
        _refuse_while_in_use(writing, known)
        writing.forget_host(known.host_id)
        audit.append(
            writing.connection,
            acting.entry(AuditAction.HOST_FORGET, evidence={"name": name, "machine_id": known.machine_id}),
        )
    return known


def _refuse_while_in_use(reading: Reading, known: KnownHost) -> None:
    own = [root for root in reading.roots() if root.host_id == known.host_id]
    if own:
        copies = sum(len(reading.artifacts_below(root.root_id, b"")) for root in own)
        names = ", ".join(root.name for root in own)
        raise MachineInUse(
            f"{known.name} has {counted(len(own), 'root')} ({names}) with {counted(copies, 'artifact')}",
            remedy=f"`artifactctl leave {known.name} --by TIME` says what exists only there; then "
            + "; ".join(f"`artifactctl root forget {root.name}`" for root in own),
        )
    for root in reading.roots():
        if any(client.machine == known.name for client in Attestation.from_text(root.attestation).clients):
            raise MachineInUse(
                f"{known.name} is asked who uses the volume of the root `{root.name}`",
                remedy=f"say who mounts it without {known.name}: `artifactctl root attest {root.name} ...`",
            )
