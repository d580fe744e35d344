"""Connections to real sshd: whose key is believed, who gets in, which way leads there, and what is said when not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from artifactctl.domain.errors import HostDenied, HostRefused
from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.connection import open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.failures import HostKeyRefused, HostKeyUnknown, LoginRefused, Unreachable
from artifactctl.hosts.ssh.pinning import given_pin, known_pin, stored_pin
from artifactctl.hosts.ssh.starting import new_mark, start_script
from tests.bench.machines import PORT

pytestmark = pytest.mark.system

THREE_KINDS = ("rsa", "ecdsa", "ed25519")


@pytest.fixture
def connect(ssh):
    """Return a function that connects by what known_hosts pins, or by the pin given; all are closed at the end."""
    opened = []

    def to(address, *, pin=None, environment=None, **how):
        environment = {**ssh.environment, **(environment or {})}
        destination = resolve(parse_address(address), environment=environment)
        connection = open_connection(destination, pin or known_pin(destination), environment=environment, **how)
        opened.append(connection)
        return connection

    yield to
    for connection in opened:
        connection.close()


def answer(connection, script):
    """Return what a script of /bin/sh prints there."""
    mark = new_mark()
    channel = start_script(connection, f"{mark.printing()}; {script}", mark).channel
    pieces = [*iter(lambda: channel.read(65536), b"")]
    channel.close()
    return b"".join(pieces)


def test_a_machine_whose_key_is_known_lets_us_in(machine, connect):
    connection = connect(machine.address())

    assert answer(connection, "hostname; cat /etc/machine-id").decode() == f"alpha\n{machine.machine_id}\n"
    assert connection.host_key.line == machine.public_key()
    assert connection.round_trip_seconds() < 1


def test_a_machine_whose_key_nobody_pinned_is_refused_and_its_fingerprint_is_named(machines, ssh, connect):
    unknown = machines()
    ssh.can_enter(unknown)

    with pytest.raises(HostKeyUnknown) as refused:
        connect(unknown.address())

    assert unknown.fingerprint() in refused.value.message
    assert "--host-key" in refused.value.remedy
    assert refused.value.offered.line == unknown.public_key()
    assert not ssh.known_hosts.exists()
    assert "Accepted" not in (unknown.folder / "log").read_text()


def test_a_changed_key_is_refused_with_both_fingerprints(machines, ssh, connect):
    first, second = machines("alpha"), machines("beta")
    ssh.can_enter(first, second)
    ssh.known_hosts.write_text(f"[{second.host}]:{PORT} {first.public_key()}\n")

    with pytest.raises(HostKeyRefused) as refused:
        connect(second.address())

    assert refused.value.exit_code == HostRefused.exit_code
    assert first.fingerprint() in refused.value.message
    assert second.fingerprint() in refused.value.message
    assert "Accepted" not in (second.folder / "log").read_text()


def test_a_key_of_a_kind_that_the_machine_has_no_more_is_a_changed_key(machines, ssh, connect):
    rsa, other = machines("alpha", host_keys=("rsa",)), machines("beta")
    ssh.can_enter(other)
    ssh.known_hosts.write_text(f"[{other.host}]:{PORT} {rsa.public_key('rsa')}\n")

    with pytest.raises(HostKeyRefused) as refused:
        connect(other.address())

    assert rsa.fingerprint("rsa") in refused.value.message
    assert other.fingerprint() in refused.value.message


@pytest.mark.parametrize("kind", THREE_KINDS)
def test_the_pinned_kind_is_asked_for_whatever_the_machine_prefers(kind, machines, ssh, connect):
    machine = machines(host_keys=THREE_KINDS)
    ssh.can_enter(machine)
    ssh.knows(machine, kind)

    by_file = connect(machine.address())
    by_fingerprint = connect(machine.address(), pin=given_pin(machine.fingerprint(kind)))

    assert by_file.host_key.line == machine.public_key(kind)
    assert by_fingerprint.host_key == by_file.host_key


def test_a_fingerprint_that_no_key_of_the_machine_has_is_refused_with_those_it_has(machines, ssh, connect):
    machine = machines(host_keys=("rsa", "ed25519"))
    ssh.can_enter(machine)
    wrong = "SHA256:" + "A" * 43

    with pytest.raises(HostKeyRefused) as refused:
        connect(machine.address(), pin=given_pin(wrong))

    assert wrong in refused.value.message
    assert machine.fingerprint("rsa") in refused.value.message
    assert machine.fingerprint("ed25519") in refused.value.message


def test_what_the_catalog_keeps_counts_and_not_what_known_hosts_says_since(machines, ssh, connect):
    first, second = machines("alpha"), machines("beta")
    ssh.can_enter(first, second)
    ssh.knows(second)

    with pytest.raises(HostKeyRefused, match="pinned by the catalog"):
        connect(second.address(), pin=stored_pin(first.public_key(), name="alpha"))


def test_hashed_names_are_found(machine, ssh, connect):
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", ssh.known_hosts], check=True, capture_output=True)
    assert machine.host not in ssh.known_hosts.read_text()

    assert answer(connect(machine.address()), "echo in") == b"in\n"


def test_a_revoked_key_is_refused_even_where_it_is_pinned(machine, ssh, connect):
    with ssh.known_hosts.open("a") as file:
        file.write(f"@revoked * {machine.public_key()}\n")

    with pytest.raises(HostKeyRefused, match="revoked"):
        connect(machine.address())


def test_a_key_that_is_not_accepted_there_is_named(machines, ssh, connect):
    machine = machines()
    ssh.knows(machine)
    key = ssh.make_key()

    with pytest.raises(LoginRefused) as refused:
        connect(machine.address("worker"))

    assert refused.value.exit_code == HostDenied.exit_code
    assert f"tried {key}" in refused.value.message
    assert f"ssh-copy-id worker@{machine.host}" in refused.value.remedy


def test_without_any_key_the_next_step_is_to_make_one(machines, ssh, connect):
    machine = machines()
    ssh.knows(machine)

    with pytest.raises(LoginRefused, match="no key to try") as refused:
        connect(machine.address())

    assert "ssh-keygen" in refused.value.remedy


def test_an_encrypted_key_opens_with_its_passphrase_and_else_says_so(machines, ssh, connect):
    machine = machines()
    ssh.knows(machine)
    key = ssh.make_key(passphrase="correct horse")
    machine.let_in(Path(f"{key}.pub"))

    with pytest.raises(LoginRefused, match=f"{key} is encrypted and in no agent") as locked:
        connect(machine.address())
    with pytest.raises(LoginRefused, match="that is not its passphrase"):
        connect(machine.address(), ask_passphrase=lambda _: "wrong")
    connection = connect(machine.address(), ask_passphrase=lambda _: "correct horse")

    assert locked.value.remedy == f"ssh-add {key}"
    assert answer(connection, "echo in") == b"in\n"


@pytest.fixture
def agent(tmp_path, ssh):
    """A running agent: the environment that leads to it, and a function that hands it keys."""
    listening = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", listening], stdout=subprocess.DEVNULL)
    environment = {"SSH_AUTH_SOCK": str(listening)}
    while not listening.exists():
        pass

    def add(key):
        subprocess.run(["ssh-add", "-q", key], env={**os.environ, **environment}, check=True)

    yield environment, add
    process.terminate()
    process.wait()


def test_a_key_that_only_the_agent_holds_opens(machines, ssh, connect, agent):
    environment, add = agent
    machine = machines()
    ssh.knows(machine)
    key = ssh.make_key("elsewhere")
    machine.let_in(Path(f"{key}.pub"))
    add(key)
    key.unlink()

    assert answer(connect(machine.address(), environment=environment), "echo in") == b"in\n"


def test_too_many_keys_of_the_agent_are_no_riddle_and_the_named_one_opens(machines, ssh, connect, agent):
    environment, add = agent
    machine = machines(sshd="MaxAuthTries 3")
    ssh.knows(machine)
    right = ssh.make_key("right")
    machine.let_in(Path(f"{right}.pub"))
    for number in range(6):
        add(ssh.make_key(f"other-{number}"))
    add(right)

    with pytest.raises(LoginRefused, match="hung up") as refused:
        connect(machine.address(), environment=environment)
    ssh.configure(f"Host *\n  IdentityFile {right}\n  IdentitiesOnly yes\n")
    connection = connect(machine.address(), environment=environment)

    assert "other-0" in refused.value.message
    assert "IdentitiesOnly" in refused.value.remedy
    assert answer(connection, "echo in") == b"in\n"


def test_a_dead_agent_is_no_reason_to_give_up(machine, connect, tmp_path):
    connection = connect(machine.address(), environment={"SSH_AUTH_SOCK": str(tmp_path / "gone")})

    assert answer(connection, "echo in") == b"in\n"


def test_a_machine_that_wants_a_password_says_so(machines, ssh, connect):
    machine = machines(sshd="PubkeyAuthentication no\nPasswordAuthentication yes")
    ssh.can_enter(machine)
    ssh.knows(machine)

    with pytest.raises(LoginRefused, match="password") as refused:
        connect(machine.address())

    assert "with a key alone" in refused.value.remedy


def test_an_alias_of_ssh_config_says_where_who_and_with_what(machines, ssh, connect):
    machine = machines()
    ssh.knows(machine)
    key = ssh.make_key("for-alpha")
    machine.let_in(Path(f"{key}.pub"))
    ssh.configure(f"Host alp*\n  HostName {machine.host}\n  Port {PORT}\n  User worker\n  IdentityFile ~/.ssh/%n\n")
    key.rename(ssh.folder / "alpine")
    Path(f"{key}.pub").rename(ssh.folder / "alpine.pub")

    connection = connect("ssh://alpine")

    assert answer(connection, "id -un") == b"worker\n"
    assert str(connection.destination) == f"ssh://alpine ({machine.host} port {PORT})"


def test_keys_of_a_file_that_ssh_config_names_count(machine, ssh, connect):
    elsewhere = ssh.home / "pinned"
    ssh.known_hosts.rename(elsewhere)
    with pytest.raises(HostKeyUnknown):
        connect(machine.address())
    ssh.configure(f"UserKnownHostsFile {elsewhere}\n")

    assert answer(connect(machine.address()), "echo in") == b"in\n"


def test_an_address_of_ipv6_leads_there(machine, ssh, connect):
    ssh.known_hosts.write_text(f"[{machine.host6}]:{PORT} {machine.public_key()}\n")

    assert answer(connect(f"ssh://root@[{machine.host6}]:{PORT}"), "echo in") == b"in\n"


def test_jumps_lead_there_one_after_the_other(machines, ssh, connect):
    first, second, last = machines("first"), machines("second"), machines("last")
    for machine in (first, second, last):
        ssh.can_enter(machine)
        ssh.knows(machine)
    ssh.configure(
        f"Host last\n HostName {last.host}\n Port {PORT}\n User root\n ProxyJump first,root@{second.host}:{PORT}\n"
        f"Host first\n HostName {first.host}\n Port {PORT}\n User root\n"
    )

    came_from = answer(connect("ssh://last"), "echo $SSH_CONNECTION").split()[0].decode()

    assert came_from == second.host
    assert f"Accepted publickey for root from {first.host}" in (second.folder / "log").read_text()


def test_a_jump_whose_key_nobody_pinned_is_refused(machines, ssh, connect):
    jump, last = machines("jump"), machines("last")
    ssh.can_enter(jump, last)
    ssh.knows(last)
    ssh.configure(f"Host {last.host}\n  ProxyJump root@{jump.host}:{PORT}\n")

    with pytest.raises(HostKeyUnknown, match=jump.fingerprint().replace("+", r"\+")):
        connect(last.address())


def test_a_jump_that_leads_nowhere_says_from_where(machines, ssh, connect):
    jump, last = machines("jump", sshd="AllowTcpForwarding no"), machines("last")
    ssh.can_enter(jump, last)
    ssh.knows(jump)
    ssh.configure(f"Host {last.host}\n  ProxyJump root@{jump.host}:{PORT}\n")

    with pytest.raises(Unreachable, match=f"{jump.host}.* does not lead on to {last.host}") as refused:
        connect(last.address())

    assert "AllowTcpForwarding" in refused.value.remedy


def test_jumps_in_a_circle_end(machine, ssh, connect):
    ssh.configure(f"Host *\n  ProxyJump root@{machine.host}:{PORT}\n")

    with pytest.raises(Exception, match="more than 8 jumps"):
        connect(machine.address())


def test_a_proxy_command_carries_the_connection_and_ends_with_it(machine, ssh, connect, tmp_path):
    carrier = tmp_path / "carry.py"
    carrier.write_text(CARRIER)
    ssh.configure(f"Host far\n HostName {machine.host}\n Port {PORT}\n ProxyCommand {sys.executable} {carrier} %h %p\n")
    ssh.known_hosts.write_text(f"[{machine.host}]:{PORT} {machine.public_key()}\n")
    connection = connect("ssh://root@far")

    assert answer(connection, "echo in") == b"in\n"
    connection.close()
    assert subprocess.run(["pgrep", "-f", str(carrier)], check=False, capture_output=True).returncode == 1


CARRIER = """
import os, select, socket, sys
far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    ready, _, _ = select.select([0, far], [], [])
    if 0 in ready:
        data = os.read(0, 65536)
        if not data: break
        far.sendall(data)
    if far in ready:
        data = far.recv(65536)
        if not data: break
        os.write(1, data)
"""


def test_a_proxy_command_that_fails_says_that_nobody_answers(machine, ssh, connect):
    ssh.configure("Host *\n  ProxyCommand false %h\n")

    with pytest.raises(Unreachable, match="no ssh server answers"):
        connect(machine.address())


def test_nobody_listening_is_told_from_nobody_there(machine, ssh, connect):
    with pytest.raises(Unreachable, match="nothing listens on port 2223"):
        connect(f"ssh://root@{machine.host}:2223")
    with pytest.raises(Unreachable, match="nobody knows the name no-such-machine"):
        connect("ssh://root@no-such-machine.invalid")
    ssh.configure("ConnectTimeout 1\n")
    machine.cut()
    with pytest.raises(Unreachable, match="no answer within 1 seconds"):
        connect(machine.address())


def test_a_frozen_machine_is_given_up_on(machine, ssh, connect):
    ssh.configure("ConnectTimeout 1\n")
    machine.freeze()

    with pytest.raises(Unreachable, match="no ssh server answers"):
        connect(machine.address())
