"""What is read before anything is connected: addresses, ssh_config, known_hosts, and how commands are quoted."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.errors import UsageError
from artifactctl.hosts.ssh.address import Address, parse_address
from artifactctl.hosts.ssh.config_file import Asking, read_config
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.failures import ConfigProblem, UnreadableAddress
from artifactctl.hosts.ssh.host_keys import HostKey, check_fingerprint, parse_key
from artifactctl.hosts.ssh.known_hosts import pins_in, read_pins
from artifactctl.hosts.ssh.patterns import matches_list
from artifactctl.hosts.ssh.shell import for_any_shell, word
from tests.bench.sandbox import CHECKOUT


@pytest.mark.parametrize(
    ("text", "host", "user", "port"),
    [
        ("ssh://gpu1", "gpu1", "", None),
        ("ssh://ada@gpu1.example:2222", "gpu1.example", "ada", 2222),
        ("ssh://root@[fd77::2]:22", "fd77::2", "root", 22),
        ("ssh://[FE80::1%eth0]/", "fe80::1%eth0", "", None),
        ("ssh://first.last@10.0.0.1", "10.0.0.1", "first.last", None),
    ],
)
def test_an_address_is_read_and_written_the_same(text, host, user, port):
    found = parse_address(text)

    assert found == Address(host=host, user=user, port=port)
    assert parse_address(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "gpu1",
        "ssh:gpu1",
        "http://gpu1",
        "ssh://",
        "ssh://@gpu1",
        "ssh://gpu1:",
        "ssh://gpu1:0",
        "ssh://gpu1:65536",
        "ssh://gpu1:22/data",
        "ssh://fd77::2",
        "ssh://[fd77::2",
        "ssh://[nonsense]",
        "ssh://-oProxyCommand=reboot",
        "ssh://$(reboot)@gpu1",
        "ssh://ada@gpu;reboot",
        "ssh://ada@gpu1\n",
        "ssh://-l@gpu1",
        "ssh://ada:secret@gpu1",
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UnreadableAddress) as refused:
        parse_address(text)

    assert refused.value.remedy
    assert "secret" not in refused.value.message


def write(file, text, mode=0o600):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


@pytest.fixture
def settings(tmp_path):
    """Return a function: ssh_config text (and other files by name) to the settings of one machine, by keyword."""

    def read(text, name="gpu1", *, user="", system="", **others):
        write(tmp_path / ".ssh" / "config", text)
        write(tmp_path / "etc" / "ssh_config", system)
        for other, content in others.items():
            write(tmp_path / ".ssh" / other, content)
        asking = Asking(name=name, user=user, local_user="ada", home=tmp_path)
        found = read_config(asking, system_file=tmp_path / "etc" / "ssh_config")
        return {keyword: [line.rest for line in lines] for keyword, lines in found.lines.items()}

    return read


def test_the_first_value_counts_and_keys_add_up(settings):
    text = "Host gpu*\n Port 2222\n IdentityFile a\nHost *\n Port 22\n User root\n IdentityFile b\n"

    assert settings(text) == {"port": ["2222"], "identityfile": ["a", "b"], "user": ["root"]}
    assert settings(text, "cpu1") == {"port": ["22"], "identityfile": ["b"], "user": ["root"]}


def test_lines_are_read_in_every_spelling(settings):
    text = '# talk\n\nHOST="gpu1"\n\tport = 2222 # why\n  IdentityFile "a key"\nProxyCommand nc -X 5 "%h" %p # kept\n'

    assert settings(text) == {
        "port": ["2222 # why"],
        "identityfile": ['"a key"'],
        "proxycommand": ['nc -X 5 "%h" %p # kept'],
    }


@pytest.mark.parametrize(
    ("patterns", "name", "matches"),
    [
        ("gpu? !gpu2", "gpu1", True),
        ("gpu? !gpu2", "gpu2", False),
        ("*.example !*.bad.example", "a.bad.example", False),
        ("g[pu]1", "gpu1", False),
        ("!gpu1", "gpu2", False),
    ],
)
def test_patterns_are_those_of_ssh(patterns, name, matches):
    assert matches_list(name, patterns.split()) is matches


def test_the_users_file_comes_before_the_systems(settings):
    assert settings("Port 1\n", system="Port 2\nUser root\n") == {"port": ["1"], "user": ["root"]}


def test_included_files_count_where_they_are_named_and_only_for_whom(settings):
    text = "Host gpu*\n Include inner\n Port 3\nHost *\n Port 4\n"

    assert settings(text, inner="User root\nHost cpu*\n Port 1\nHost gpu1\n Port 2\n") == {
        "user": ["root"],
        "port": ["2"],
    }
    assert settings(text, "cpu1", inner="User root\nHost cpu*\n Port 1\n") == {"port": ["4"]}


def test_a_file_that_includes_itself_is_an_error(settings):
    with pytest.raises(ConfigProblem, match="deep"):
        settings("Include config\n")


def test_match_follows_what_is_known_so_far(settings):
    text = (
        "Host alias\n HostName real\nMatch host real user root\n Port 1\nMatch originalhost alias !user root\n Port 2\n"
        'Match exec "test %n = alias"\n Compression yes\nMatch exec false\n Compression no\nMatch all\n Port 3\n'
    )

    assert settings(text, "alias", user="root")["port"] == ["1"]
    assert settings(text, "alias", user="bob")["port"] == ["2"]
    assert settings(text, "other")["port"] == ["3"]
    assert settings(text, "alias")["compression"] == ["yes"]
    assert "compression" not in settings(text, "other")


def test_a_final_match_holds_when_all_else_is_known(settings):
    text = "Match final host real\n Port 7\nHost alias\n HostName real\n IdentityFile a\n"

    assert settings(text, "alias") == {"port": ["7"], "hostname": ["real"], "identityfile": ["a"]}
    assert "port" not in settings(text, "other")


def test_the_first_of_jump_and_command_counts(settings):
    assert settings("ProxyJump a\nProxyCommand b\n") == {"proxyjump": ["a"]}
    assert settings("ProxyCommand b\nProxyJump a\n") == {"proxycommand": ["b"]}


@pytest.mark.parametrize("text", ["nonsense\n", "Match tagged x\n Port 1\n"])
def test_what_cannot_be_followed_is_named_with_its_line(text, settings):
    with pytest.raises(ConfigProblem, match="config:1:"):
        settings(text)


def test_a_file_that_others_may_write_is_not_followed(tmp_path):
    write(tmp_path / ".ssh" / "config", "ProxyCommand evil\n", mode=0o666)

    with pytest.raises(ConfigProblem, match="others may write"):
        resolve(Address(host="gpu1"), environment={"HOME": str(tmp_path)})


@pytest.fixture
def destination(tmp_path):
    """Return a function: ssh_config text to the destination of an address."""

    def to(text, address="ssh://gpu1", **environment):
        write(tmp_path / ".ssh" / "config", text)
        where = {"HOME": str(tmp_path), **environment}
        return resolve(parse_address(address), environment=where, system_file=tmp_path / "none")

    return to


def test_the_address_beats_ssh_config(destination):
    found = destination("Port 1\nUser bob\n", "ssh://ada@gpu1:2")

    assert (found.user, found.port, found.host) == ("ada", 2, "gpu1")


def test_signs_in_values_stand_for_what_they_mean(destination, tmp_path):
    text = (
        "HostName %h.example\nPort 7\nUser root\nIdentityFile ~/.ssh/%r-%n-%p\nUserKnownHostsFile %d/kh ${PLACE}/kh2\n"
        "ProxyCommand carry %h %p %%\nIdentityAgent ${PLACE}/agent\n"
    )

    found = destination(text, PLACE="/place")

    assert found.host == "gpu1.example"
    assert found.key_files == (tmp_path / ".ssh" / "root-gpu1-7",)
    assert found.known_hosts_files[:2] == (tmp_path / "kh", Path("/place/kh2"))
    assert found.proxy_command == "carry gpu1.example 7 %"
    assert found.agent == "/place/agent"


def test_without_any_configuration_it_is_as_ssh_does(destination, tmp_path):
    found = destination("", SSH_AUTH_SOCK="/agent")

    assert (found.port, found.agent, found.jumps, found.proxy_command) == (22, "/agent", (), "")
    assert [file.name for file in found.key_files] == ["id_ed25519", "id_ecdsa", "id_rsa"]
    assert found.known_hosts_files[0] == tmp_path / ".ssh" / "known_hosts"


@pytest.mark.parametrize(
    ("text", "interval", "patience"),
    [
        ("", 10, 30),
        ("ServerAliveInterval 5\nServerAliveCountMax 4\n", 5, 20),
        ("ServerAliveInterval 60\n", 60, 180),
        ("ServerAliveInterval 0\n", 10, 30),
    ],
    ids=["nothing said", "both", "the interval alone", "what never asks in ssh"],
)
def test_how_long_silence_is_borne_is_what_ssh_config_says(text, interval, patience, destination):
    found = destination(text)

    assert (found.alive_interval.total_seconds(), found.patience.total_seconds()) == (interval, patience)


@pytest.mark.parametrize(
    "text",
    [
        "ServerAliveInterval x\n",
        "ServerAliveCountMax 0\n",
        "Port many\n",
        "Port 0\n",
        "ConnectTimeout soon\n",
        "IdentityFile %Z\n",
    ],
)
def test_values_that_mean_nothing_are_errors(text, destination):
    with pytest.raises(ConfigProblem):
        destination(text)


def test_none_switches_off(destination):
    found = destination("ProxyJump none\nIdentityAgent none\nUserKnownHostsFile none\n", SSH_AUTH_SOCK="/agent")

    assert (found.jumps, found.agent, found.proxy_command) == ((), "", "")
    assert ".ssh" not in str(found.known_hosts_files)


def key(seed, kind="ssh-ed25519"):
    blob = len(kind).to_bytes(4, "big") + kind.encode() + bytes([seed]) * 32
    return HostKey(type=kind, blob=blob)


def test_a_key_is_found_under_every_name_it_is_pinned_for():
    text = (
        f"# comment\n\ngpu1,10.0.0.1 {key(1).line} comment here\n*.example,!bad.example {key(2).line}\n"
        f"[gpu1]:2222 {key(3, 'ssh-rsa').line}\nGPU2 {key(4).line}\nbroken line\nhalf {key(1).line[:30]}\n"
    )

    assert pins_in([text], name="gpu1").keys == (key(1),)
    assert pins_in([text], name="10.0.0.1").keys == (key(1),)
    assert pins_in([text], name="a.example").keys == (key(2),)
    assert pins_in([text], name="bad.example").keys == ()
    assert pins_in([text], name="[gpu1]:2222").keys == (key(3, "ssh-rsa"),)
    assert pins_in([text], name="gpu2").keys == (key(4),)


def test_markers_are_understood():
    text = f"@revoked * {key(1).line}\ngpu1 {key(1).line}\ngpu1 {key(2).line}\n@cert-authority *.x {key(3).line}\n"

    assert pins_in([text], name="gpu1").keys == (key(2),)
    assert pins_in([text], name="gpu1").revoked == (key(1),)
    assert pins_in([text], name="a.x").authorities == 1
    assert pins_in([text], name="a.x").keys == ()


def test_a_key_without_a_port_counts_where_none_has_one(tmp_path):
    file = tmp_path / "known_hosts"
    file.write_bytes(f"gpu1 {key(1).line}\n[gpu1]:2222 {key(2).line}\n".encode() + b"\xff\xfe broken\n")
    files = [file, tmp_path / "missing"]

    assert read_pins(files, host="gpu1", port=22).keys == (key(1),)
    assert read_pins(files, host="gpu1", port=2222).keys == (key(2),)
    assert read_pins(files, host="gpu1", port=2223).keys == (key(1),)


def test_the_fingerprint_is_that_of_ssh_keygen(tmp_path):
    text = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPk2ea2BoRYDDkwVyPvhYCrEj2xqUXWxRFMBSbxvzbR"
    found = parse_key(text)

    assert found is not None
    assert found.line == text
    assert len(base64.b64decode(found.fingerprint.removeprefix("SHA256:") + "=")) == 32
    assert check_fingerprint(found.fingerprint + "=") == found.fingerprint
    assert parse_key("ssh-rsa " + text.split()[1]) is None


@pytest.mark.parametrize("text", ["", "SHA256:short", "MD5:" + ":".join(["ab"] * 16), "SHA256:" + "!" * 43])
def test_what_is_no_fingerprint_is_refused(text):
    with pytest.raises(UsageError, match="fingerprint"):
        check_fingerprint(text)


@given(st.binary(max_size=60).filter(lambda raw: b"\0" not in raw))
def test_any_bytes_reach_the_script_as_they_are(raw):
    command = for_any_shell(f"printf %s {word(raw)}")

    assert subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True).stdout == raw
    assert not set(command) & set("!\n\t\0")
    assert command.count("'") == 2


WITHOUT_LINUX = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"paramiko"} or name.startswith("artifactctl.hosts.probe") or name == "artifactctl.hosts.local":
            raise ImportError(f"{name} is not there")
sys.meta_path.insert(0, Absent())
import pkgutil, importlib
import artifactctl.hosts.ssh, artifactctl.hosts.connecting, artifactctl.cli.commands.host
import artifactctl.inventory.introducing, artifactctl.inventory.checking_machines, artifactctl.cli.ssh_questions
for module in pkgutil.iter_modules(artifactctl.hosts.ssh.__path__):
    importlib.import_module(f"artifactctl.hosts.ssh.{module.name}")
"""


def test_nothing_of_linux_and_no_paramiko_is_imported_before_a_connection_is_made():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LINUX], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
