"""Whatever a login shell does first, the agent is found behind it; where there is none, what came instead is said."""

import os
import stat
import sys
from pathlib import Path

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.wire import packing
from artifactctl.hosts.wire.bootstrap import CODE, command
from artifactctl.hosts.wire.channel import ChannelLost
from artifactctl.hosts.wire.greeting import Lack, Manners, NoAgent
from tests.bench.pythons import python_of
from tests.hosts.wire.links import BRISK, agent, pipe, shell

OLD = [number for number in ("2.7", "3.6", "3.7") if python_of(number)]
OLDEST = python_of("3.8")


def test_the_agent_says_who_it_is() -> None:
    with agent() as host:
        greeting = host.greeting

        assert greeting.process == host._conversation._channel.process
        assert greeting.user == os.geteuid()
        assert greeting.python.startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")


@pytest.mark.parametrize(
    "before",
    [
        "echo welcome to gpu1",
        "printf 'artifactctl-ready for you\\naw\\001\\001'",
        "printf '\\nartifactctl-read'",
        "head -c 900000 /dev/urandom",
        "echo 'bash: warning: setlocale' >&2; sleep 1",
        "head -c 3000000 /dev/zero | tr '\\0' 'e' >&2",
    ],
    ids=[
        "a greeting",
        "something like ours",
        "the beginning of ours",
        "900 kB of noise",
        "slowly",
        "3 MB of complaints",
    ],
)
def test_noise_before_the_agent_is_passed_over(before: str) -> None:
    with RemoteHost(pipe(shell(f'{before}; exec "$@"')), machine="gpu1") as host:
        assert host.resolve(b"/usr/../usr") == (b"/usr", None)


def test_complaints_while_it_works_hold_nothing_up() -> None:
    script = '(head -c 3000000 /dev/zero | tr "\\0" e >&2) & exec "$@"'
    with RemoteHost(pipe(shell(script)), machine="gpu1") as host:
        for _ in range(20):
            host.resolve(b"/usr")


@pytest.mark.parametrize(
    ("script", "lack", "says"),
    [
        ("exec python3-that-is-nowhere", Lack.NO_PYTHON, "python3 is missing on gpu1: .*not found"),
        ("echo 'sudo: a password is required' >&2; exit 1", Lack.NO_SUDO, "asks for a password"),
        ("echo This account is not available; exit 1", Lack.NO_ANSWER, "This account is not available"),
        ("exit 0", Lack.NO_ANSWER, "ended before Python was ready"),
        ("head -c 5000000 /dev/zero; sleep 60", Lack.NO_ANSWER, "over 1 MiB of something else"),
        ("while echo ...; do sleep 0.1; done", Lack.NO_ANSWER, "nothing was ready within 1 seconds"),
    ],
    ids=["no python", "sudo with a password", "no login", "nothing", "endless noise", "noise for ever"],
)
def test_where_no_agent_answers_it_is_said_what_came_instead(script: str, lack: Lack, says: str) -> None:
    manners = Manners(start_seconds=1)

    with pytest.raises(NoAgent, match=says) as refusal:
        RemoteHost(pipe(shell(script)), machine="gpu1", manners=manners)

    assert refusal.value.lack is lack
    assert refusal.value.remedy


@pytest.mark.parametrize("number", OLD)
def test_a_python_that_is_too_old_is_named(number: str) -> None:
    interpreter = python_of(number)
    assert interpreter is not None

    with pytest.raises(NoAgent) as refusal:
        RemoteHost(pipe(command(interpreter)), machine="gpu1")

    expected = {"2.7": Lack.NO_ANSWER}.get(number, Lack.OLD_PYTHON)  # that one knows no -I and says so
    assert refusal.value.lack is expected
    if expected is Lack.OLD_PYTHON:
        assert f"Python {number}." in refusal.value.message


@pytest.mark.skipif(OLDEST is None, reason="no Python 3.8 here")
def test_the_oldest_python_that_will_do_does(tmp_path: Path) -> None:
    assert OLDEST is not None
    (tmp_path / "caf\udce9").write_bytes(b"x" * 10)

    with RemoteHost(pipe(command(OLDEST)), machine="gpu1") as host:
        (listing,) = host.walk(os.fsencode(tmp_path))

    assert [entry.name for entry in listing.entries] == [b"caf\xe9"]


def test_names_survive_any_locale_there(tmp_path: Path) -> None:
    (tmp_path / "caf\udce9").write_bytes(b"x" * 10)

    with RemoteHost(pipe(LC_ALL="C", LANG="C", PYTHONUTF8="0"), machine="gpu1") as host:
        (listing,) = host.walk(os.fsencode(tmp_path))
        content = host.read_range(os.fsencode(tmp_path) + b"/caf\xe9", 0, 4)

    assert ([entry.name for entry in listing.entries], content) == ([b"caf\xe9"], b"xxxx")


def test_a_silent_login_is_given_up() -> None:
    with pytest.raises(HostFailure, match="nothing was heard for 1 seconds"):
        RemoteHost(pipe(shell("sleep 60"), silence_seconds=1), machine="gpu1", manners=BRISK)


def test_another_probe_than_the_one_sent_is_refused() -> None:
    unpacking = ".decompress(i.read(n))"
    assert unpacking in CODE
    code = CODE.replace(unpacking, f'{unpacking}.replace(b"{packing.digest()}",b"0"*64)')

    with pytest.raises(HostFailure, match="another version of the probe"):
        RemoteHost(pipe((sys.executable, "-I", "-c", code)), machine="gpu1")


def test_nothing_is_sent_to_what_is_not_ready(tmp_path: Path) -> None:
    got = tmp_path / "got"

    with pytest.raises(NoAgent):
        RemoteHost(pipe(shell(f"timeout 1 cat > {got}")), machine="gpu1", manners=Manners(start_seconds=1))

    assert got.read_bytes() == b""


def test_an_agent_that_cannot_be_started_is_a_lost_channel() -> None:
    with pytest.raises(ChannelLost, match="No such file"):
        pipe(("/nowhere/python3",))


def test_the_command_survives_every_login_shell_inside_single_quotes() -> None:
    assert not set("'!\\\n") & set(CODE)
    assert len(CODE) < 300


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Not in the home, not in the temporary folder, not beside the interpreter's own modules."""
    home = tmp_path / "home"
    home.mkdir(mode=stat.S_IRWXU)

    with RemoteHost(pipe(HOME=str(home), TMPDIR=str(home)), machine="gpu1") as host:
        host.usage(os.fsencode(tmp_path))
        working_directory = os.readlink(f"/proc/{host.greeting.process}/cwd")

    assert list(home.iterdir()) == []
    assert working_directory == "/"
