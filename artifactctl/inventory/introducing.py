"""Machines that are reached over ssh: making them known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from artifactctl import audit
from artifactctl.catalog import Catalog, NameTaken, Reading, Writing
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.errors import HostRefused
from artifactctl.domain.ledger import KnownHost
from artifactctl.domain.roles import Act
from artifactctl.hosts.connecting import AskPassphrase, reach_new
from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.facts import MachineFacts, ask_facts
from artifactctl.hosts.ssh.failures import HostKeyUnknown
from artifactctl.hosts.ssh.host_keys import HostKey
from artifactctl.hosts.ssh.python import sudo_refused
from artifactctl.inventory.acting import Acting
from artifactctl.report.machines import key_shown

AcceptKey = Callable[[HostKeyUnknown], None]
"""Shows a person the key of a new machine and returns when they accept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How to get to a machine: this process's environment, and who is asked for what only a person knows."""

    environment: Mapping[str, str]
    accept_key: AcceptKey
    ask_passphrase: AskPassphrase | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduced:
    """A machine that has just been added. `warnings` are for whoever added it."""

    known: KnownHost
    facts: MachineFacts
    warnings: tuple[str, ...]


def add_machine(
    catalog: Catalog, name: str, address: str, *, fingerprint: str, uses_sudo: bool, way: Way, acting: Acting
) -> Introduced:
    """Connect to a machine, ask who it is, and record it with the key that it proved to have.

    Adding the same machine again under the same name and address gives it back; anything else behind a known name, or
    a known machine under another name, is refused.
    """
    catalog.require(Act.ADD_HOST, acting.actor, acting.now, about=name)
    with catalog.reading() as reading:
        before = reading.host(name)
    if before is None and name == acting.host:  # events name machines, and `HOST:PATH` would mean the other one
        raise NameTaken(f"{name} is what this machine is called", remedy="give the other one another name")
    connection, said_by = _first_contact(address, fingerprint=fingerprint, way=way)
    try:
        facts = ask_facts(connection, sudo=uses_sudo)
    finally:
        connection.close()
    if facts.sudo_problem:
        raise sudo_refused(connection.destination, facts.sudo_problem)
    if not facts.machine_id:
        raise HostRefused(
            f"{connection.destination} has no machine id, so that nothing would tell it from another one",
            remedy="on that machine: systemd-machine-id-setup",
        )
    key = connection.host_key
    with catalog.writing(acting.actor, acting.now) as writing:
        known = _known_already(writing, name, address, facts.machine_id, key, uses_sudo=uses_sudo)
        if known is not None and not known.address:
            known = _reached_from_now_on(writing, replace(known, address=address, uses_sudo=uses_sudo), key, acting)
        elif known is None or known.forgotten_at is not None:
            meant = known or KnownHost(host_id=0, name=name, machine_id=facts.machine_id, host_key=key.line)
            meant = replace(meant, address=address, uses_sudo=uses_sudo)
            known = _take_in(writing, meant, vouched_by=said_by, key=key, acting=acting)
        warnings = (*_twins(writing, known), *_lacks(facts, known))
    return Introduced(known=known, facts=facts, warnings=warnings)


def _reached_from_now_on(writing: Writing, meant: KnownHost, key: HostKey, acting: Acting) -> KnownHost:
    """Record the way to a machine that opened the catalog itself: one machine, one row."""
    evidence: dict[str, JsonValue] = {
        "name": meant.name,
        "address": meant.address,
        "host_key": str(key),
        "vouched_by": "the keys that the machine said it has when it opened the catalog itself",
        "machine_id": meant.machine_id,
        "uses_sudo": meant.uses_sudo,
    }
    audit.append(writing.connection, acting.entry(AuditAction.HOST_ADD, evidence=evidence))
    return writing.give_address(meant.host_id, address=meant.address, host_key=key.line, uses_sudo=meant.uses_sudo)


def _take_in(writing: Writing, meant: KnownHost, *, vouched_by: str, key: HostKey, acting: Acting) -> KnownHost:
    """Record a machine, or take it back where it was forgotten."""
    evidence: dict[str, JsonValue] = {
        "name": meant.name,
        "address": meant.address,
        "host_key": str(key),
        "vouched_by": vouched_by,
        "machine_id": meant.machine_id,
        "uses_sudo": meant.uses_sudo,
    }
    audit.append(writing.connection, acting.entry(AuditAction.HOST_ADD, evidence=evidence))
    if meant.forgotten_at is not None:
        return writing.remember_host(meant.host_id, address=meant.address, uses_sudo=meant.uses_sudo)
    return writing.add_host(
        meant.name,
        machine_id=meant.machine_id,
        address=meant.address,
        host_key=meant.host_key,
        uses_sudo=meant.uses_sudo,
    )


def _first_contact(address: str, *, fingerprint: str, way: Way) -> tuple[Connection, str]:
    """Return the connection and who vouched for the machine's key."""
    first = partial(reach_new, parse_address(address), environment=way.environment, ask_passphrase=way.ask_passphrase)
    try:
        return first(fingerprint=fingerprint), "--host-key" if fingerprint else "known_hosts"
    except HostKeyUnknown as unknown:
        way.accept_key(unknown)
        return first(accepted=unknown.offered), "a person who was shown it"


def _known_already(
    reading: Reading, name: str, address: str, machine_id: str, key: HostKey, *, uses_sudo: bool
) -> KnownHost | None:
    """Return the row of exactly this machine; NameTaken and HostRefused where the name or the machine is another's."""
    ever = reading.hosts_ever()
    named = next((each for each in ever if each.name == name), None)
    if named is None:
        same = [
            each
            for each in ever
            if (each.machine_id, each.host_key) == (machine_id, key.line) or each.proves_to_be(machine_id, key.line)
        ]
        if same:
            again = f"artifactctl host add {same[0].name} {same[0].address or address}"
            has_way = bool(same[0].address) and not same[0].forgotten_at
            raise NameTaken(
                f"that machine {'was' if same[0].forgotten_at else 'is'} known as {same[0].name} already",
                remedy=f"artifactctl host check {same[0].name}" if has_way else again,
            )
        return None
    if not named.address:
        if named.proves_to_be(machine_id, key.line):
            return named
        raise NameTaken(
            f"{name} is a machine that opened this catalog itself, and {address} is not proven to be the same",
            remedy="give this one another name; if it is the same, type `artifactctl root add` for one of its roots "
            "there (the catalog then learns its ssh keys), and try again",
        )
    differs = [
        f"its {what} is {now}, and {name} has {then}"
        for what, now, then in (
            ("machine id", machine_id, named.machine_id),
            ("key", str(key), key_shown(named)),
        )
        if now != then
    ]
    if differs:
        raise HostRefused(
            f"{address} is not the machine {name} that the catalog knows: {'; '.join(differs)}",
            remedy="add it under a name of its own",
        )
    if named.forgotten_at is None and (named.address, named.uses_sudo) != (address, uses_sudo):
        raise NameTaken(f"{name} is known at {named.address} already", remedy=f"artifactctl host check {name}")
    return named


def _twins(reading: Reading, known: KnownHost) -> tuple[str, ...]:
    """Return what is odd about a machine id or key that another machine has as well."""
    found = []
    for other in reading.hosts():
        if other.host_id == known.host_id:
            continue
        if other.machine_id == known.machine_id:
            found.append(
                f"{other.name} has the same machine id: an image that was copied, or the same machine twice; "
                f"they are kept apart ({'it has no ssh key here' if not other.host_key else 'their keys differ'})"
                + ("; `leave` takes them for one" if other.may_be(known) else "")
            )
        elif other.host_key == known.host_key:
            found.append(f"{other.name} has the same ssh key, so that the two can be taken for each other by ssh")
    return tuple(found)


def _lacks(facts: MachineFacts, known: KnownHost) -> tuple[str, ...]:
    found = []
    if not facts.python:
        found.append(f"{known.name} has no Python 3.8 or newer: `df` and `du` are answered, everything else is refused")
    if facts.system != "Linux":
        found.append(f"{known.name} runs {facts.system}: artifactctl manages storage on Linux only")
    return tuple(found)
