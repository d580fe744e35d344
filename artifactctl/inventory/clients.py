"""Asking the other machines that mount a volume who uses something there.

Each is asked in a thread of its own, all within one deadline. An answer counts only from a machine that provably sees
the same: the root's marker with the root's id on the root's inode, and the target with its inode and its members. What
was renamed a moment ago must be seen under its new name, so a copy of the volume, or a cache that lags, gives no
answer.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from artifactctl.domain.artifacts import Root
from artifactctl.domain.attestation import Client
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import ArtifactctlError, HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.members import member_digest
from artifactctl.domain.observation import ClientLook, HolderReport, Observation
from artifactctl.domain.text import display_path
from artifactctl.hosts.listings import members_in_order
from artifactctl.hosts.protocol import Host

DEADLINE_SECONDS = 120.0
"""How long all machines together may take for one target: as long as a walk over some hundred thousand files."""

ClientHost = Callable[[str], Host]
"""From a machine's name to the machine; raises `ArtifactctlError` where it cannot be reached. It is called in a thread
of its own, and one machine is never asked two things at a time."""

_Question = Callable[[Host, Client], HolderReport]


def from_table(hosts: Mapping[str, Host]) -> ClientHost:
    """Return the way to machines that are all known beforehand."""

    def find(name: str) -> Host:
        if name not in hosts:
            raise unknown_machine(name)
        return hosts[name]

    return find


def unknown_machine(name: str) -> HostFailure:
    """Return the failure of a machine to which no way is known."""
    return HostFailure(
        f"no way to the machine {name} is known", remedy=f"artifactctl host add {name} ssh://USER@ADDRESS"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """The other machines. One that stayed silent once is not asked again while this object lives."""

    connect: ClientHost = field(default=from_table({}))
    deadline_seconds: float = DEADLINE_SECONDS
    _silent: dict[str, ClientLook] = field(default_factory=dict)

    def users_of(
        self, clients: Sequence[Client], root: Root, seen: Observation, *, catalog_id: str
    ) -> tuple[ClientLook, ...]:
        """Return what each says about users of what was seen below the root here, in place or in quarantine."""

        def question(host: Host, client: Client) -> HolderReport:
            there = _same_root(host, client, root, catalog_id=catalog_id)
            path = there + seen.path[len(root.path.rstrip(b"/")) :]
            _require_same(host, path, seen)
            return host.holders(path)

        return self._ask(clients, question)

    def writers_to(
        self, clients: Sequence[Client], root: Root, relative: bytes, seen: ContentLook, *, catalog_id: str
    ) -> tuple[ClientLook, ...]:
        """Return what each says about who could be changing a copy that was seen here."""

        def question(host: Host, client: Client) -> HolderReport:
            there = _same_root(host, client, root, catalog_id=catalog_id)
            look = host.contents(replace(root, path=there), ManagedPath(root=there, relative=relative))
            if not look.is_there or look.problems or look.member_digest != seen.member_digest:
                raise HostFailure(f"it does not see the same at {display_path(there + b'/' + relative)}")
            return look.writers

        return self._ask(clients, question)

    def _ask(self, clients: Sequence[Client], question: _Question) -> tuple[ClientLook, ...]:
        answers: queue.SimpleQueue[tuple[str, ClientLook | BaseException]] = queue.SimpleQueue()

        def ask(client: Client) -> None:
            try:
                answers.put((client.machine, _answer(self.connect, client, question)))
            except BaseException as failure:  # noqa: BLE001 - handed over to who waits, who raises it
                answers.put((client.machine, failure))

        waiting = [client for client in clients if client.machine not in self._silent]
        for client in waiting:
            # A daemon: a machine that never answers must not keep the program from ending.
            threading.Thread(target=ask, args=(client,), name=f"ask {client.machine}", daemon=True).start()
        found = self._gather(answers, {client.machine for client in waiting})
        return tuple(found.get(client.machine) or self._silent[client.machine] for client in clients)

    def _gather(
        self, answers: "queue.SimpleQueue[tuple[str, ClientLook | BaseException]]", missing: set[str]
    ) -> dict[str, ClientLook]:
        deadline = time.monotonic() + self.deadline_seconds
        found: dict[str, ClientLook] = {}
        while missing:
            try:
                machine, answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if isinstance(answer, BaseException):
                raise answer
            missing.discard(machine)
            found[machine] = answer
        for machine in missing:
            self._silent[machine] = ClientLook(
                machine=machine,
                problem=f"it did not answer within {self.deadline_seconds:g} s",
                remedy=f"artifactctl host check {machine}",
            )
        return found


def _answer(connect: ClientHost, client: Client, question: _Question) -> ClientLook:
    try:
        return ClientLook(machine=client.machine, report=question(connect(client.machine), client))
    except ArtifactctlError as failure:
        remedy = failure.remedy or f"artifactctl host check {client.machine}"
        return ClientLook(machine=client.machine, problem=failure.message, remedy=remedy)


def _same_root(host: Host, client: Client, root: Root, *, catalog_id: str) -> bytes:
    """Return where the machine sees the root; HostFailure unless that provably is the same folder."""
    there = (client.path or root.path).rstrip(b"/")
    shown = display_path(there)
    remedy = (
        f"mount the volume there, or say where it is: `artifactctl root attest {root.name} --sole-clients "
        f"{client.machine}:/PATH,...`"
    )
    found = host.identity(there)
    if found is None:
        raise HostFailure(f"nothing is at {shown} there", remedy=remedy)
    marker = host.read_marker(there)
    if marker is None or (marker.root_id, marker.catalog_id) != (root.root_id, catalog_id):
        raise HostFailure(f"{shown} there is not the root `{root.name}` by its marker", remedy=remedy)
    if found.inode != root.inode:
        raise HostFailure(
            f"{shown} there has another inode than the root `{root.name}`: a copy, or a mount that makes up its own",
            remedy=remedy,
        )
    return there


def _require_same(host: Host, path: bytes, seen: Observation) -> None:
    """HostFailure unless the machine sees at `path` what was seen here: the same inode, and below it the same names."""
    found, shown = host.identity(path), display_path(path)
    if found is None or seen.identity is None or seen.tree is None:
        raise HostFailure(f"it does not see {shown}", remedy="look again in a minute: its cache may lag")
    if found.inode != seen.identity.inode:
        raise HostFailure(f"it sees something else at {shown}")
    members = members_in_order(host.walk(path), is_directory=seen.is_directory)
    if member_digest(tuple(members)) != seen.tree.member_digest:
        raise HostFailure(f"it sees other files in {shown}", remedy="look again in a minute: its cache may lag")
