"""What answers on the port of a machine and is no ssh server, or one that breaks off: told as what it is."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import paramiko
import pytest

from artifactctl.hosts.ssh.address import Address
from artifactctl.hosts.ssh.asking import ask
from artifactctl.hosts.ssh.connection import Connection, open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.failures import LoginRefused, SessionRefused, Unreachable
from artifactctl.hosts.ssh.host_keys import HostKey
from artifactctl.hosts.ssh.pinning import Pin

KEY = paramiko.ECDSAKey.generate()
PIN = Pin(said_by="the test", keys=(HostKey(type=KEY.get_name(), blob=KEY.asbytes()),))


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Answer every connection to the port in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connected, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connected,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def connect(port: int, home: Path) -> Connection:
    (home / ".ssh").mkdir(exist_ok=True)
    (home / ".ssh" / "config").write_text("ConnectTimeout 10\n")
    (home / ".ssh" / "config").chmod(0o600)
    destination = resolve(Address(host="127.0.0.1", port=port), environment={"HOME": str(home)})
    return open_connection(destination, PIN, environment={"HOME": str(home)})


def says(text: bytes) -> Callable[[socket.socket], None]:
    def answer(connected: socket.socket) -> None:
        with connected:
            connected.sendall(text)
            connected.recv(1000)

    return answer


@pytest.mark.parametrize(
    "text",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-1.5-ancient\r\n", b"SSH-2.0-x\r\n\x00\x00\x00\x0c\x0a\x00garbage"],
    ids=["hangs up", "a web server", "an old protocol", "nonsense after the greeting"],
)
def test_what_is_no_ssh_server_is_not_taken_for_one(text: bytes, tmp_path: Path) -> None:
    with listening(says(text)) as port, pytest.raises(Unreachable) as refused:
        connect(port, tmp_path)

    assert f"127.0.0.1:{port}" in refused.value.message
    assert "ssh -v" in refused.value.remedy


class Server(paramiko.ServerInterface):
    """Lets everybody in without any proof, and answers commands as a test wants."""

    def __init__(self, run: Callable[[paramiko.Channel], None]) -> None:
        self._run = run

    def get_allowed_auths(self, username: str) -> str:
        return "none"

    def check_auth_none(self, username: str) -> int:
        return paramiko.AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Timer(0.1, self._run, [channel]).start()  # the client must have heard that it may go on
        return True


class Closed(Server):
    """Lets nobody in by a key."""

    def get_allowed_auths(self, username: str) -> str:
        return "password,keyboard-interactive"

    def check_auth_none(self, username: str) -> int:
        return paramiko.AUTH_FAILED


def serving(server: paramiko.ServerInterface) -> Callable[[socket.socket], None]:
    def answer(connected: socket.socket) -> None:
        transport = paramiko.Transport(connected)
        transport.add_server_key(KEY)
        # With an event it does not raise where the client is done and gone before this thread looks.
        transport.start_server(event=threading.Event(), server=server)
        transport.join(20)
        transport.close()

    return answer


def test_a_server_that_wants_no_proof_lets_us_in_and_one_that_wants_a_password_is_told(tmp_path: Path) -> None:
    with listening(serving(Server(lambda channel: channel.close()))) as port:
        connect(port, tmp_path).close()
    with (
        listening(serving(Closed(lambda channel: None))) as port,
        pytest.raises(LoginRefused, match="password, keyboard-interactive"),
    ):
        connect(port, tmp_path)


def partly(channel: paramiko.Channel) -> None:
    channel.sendall(b"\0mark \n4096\t/tm")
    channel.close()


def drops(channel: paramiko.Channel) -> None:
    channel.sendall(b"4096")
    channel.get_transport().sock.close()


@pytest.mark.parametrize("run", [partly, drops, lambda channel: channel.close()], ids=["partly", "drops", "nothing"])
def test_an_answer_that_breaks_off_without_an_exit_status_is_none(
    run: Callable[[paramiko.Channel], None], tmp_path: Path
) -> None:
    with listening(serving(Server(run))) as port:
        connection = connect(port, tmp_path)
        with pytest.raises((Unreachable, SessionRefused)):
            ask(connection, "du -s /tmp", deadline=timedelta(seconds=5))
        connection.close()
