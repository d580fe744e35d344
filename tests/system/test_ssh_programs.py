"""Programs on other machines: whatever the login shell is and says, with Python or without, alive or cut off."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.asking import ask
from artifactctl.hosts.ssh.connection import open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.facts import ask_facts
from artifactctl.hosts.ssh.failures import PythonMissing, SessionRefused, SudoRefused, Unreachable
from artifactctl.hosts.ssh.pinning import known_pin
from artifactctl.hosts.ssh.python import start_python
from artifactctl.hosts.ssh.shell import word
from artifactctl.hosts.wire.channel import ChannelLost
from tests.bench.machines import DATA

pytestmark = pytest.mark.system

SOON = timedelta(seconds=20)
NOISE = "echo loading modules; printf '\\\\033[2J\\\\007\\\\377'; seq 1 20000; echo warning >&2\n"
ECHO = "import sys, os\nwhile True:\n    data = os.read(0, 65536)\n    if not data: break\n    os.write(1, data)\n"


@pytest.fixture
def enter(machines, ssh):
    """Return a function that makes a machine and connects to it; all is closed at the end."""
    opened = []

    def to(user="root", *, impatient=False, **fittings):
        machine = machines(**fittings)
        ssh.can_enter(machine)
        ssh.knows(machine)
        destination = resolve(parse_address(machine.address(user)), environment=ssh.environment)
        pace = {"interval": timedelta(seconds=0.5), "patience": timedelta(seconds=3)} if impatient else {}
        connection = open_connection(destination, known_pin(destination), environment=ssh.environment, **pace)
        opened.append(connection)
        return machine, connection

    yield to
    for connection in opened:
        connection.close()


def all_of(channel):
    pieces = [*iter(lambda: channel.read(65536), b"")]
    channel.close()
    return b"".join(pieces)


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/usr/bin/fish", "/usr/bin/tcsh"])
def test_every_login_shell_starts_a_program_with_its_words_as_they_are(shell, enter):
    _, connection = enter(shell=shell)
    awkward = 'it\'s "quoted" $HOME `id` !! \\n \\ % * ~\nsecond line\té'

    channel = start_python(connection, f"import sys; sys.stdout.buffer.write({awkward!r}.encode())")

    assert all_of(channel).decode() == awkward


@pytest.mark.parametrize("shell", ["/bin/bash", "/usr/bin/tcsh"])
def test_what_the_login_shell_prints_and_how_long_it_takes_does_not_matter(shell, enter):
    _, connection = enter(shell=shell, startup=NOISE.replace("\\\\", "\\") + "sleep 1\n")
    channel = start_python(connection, ECHO)

    channel.write(b"hello")

    assert channel.read(5) == b"hello"


def test_a_login_shell_that_waits_for_ever_is_given_up_on(enter):
    _, connection = enter(startup="sleep 1000\n")

    with pytest.raises(Unreachable, match="nothing was heard for 1 seconds"):
        start_python(connection, ECHO, start_timeout=timedelta(seconds=1))


@pytest.mark.parametrize(
    ("shell", "words"), [("/bin/rbash", "restricted"), ("/usr/sbin/nologin", "not available"), ("/bin/false", "exit 1")]
)
def test_a_login_shell_that_runs_nothing_is_explained_in_its_own_words(shell, words, enter):
    _, connection = enter(shell=shell)

    with pytest.raises(SessionRefused, match=words) as refused:
        start_python(connection, ECHO)

    assert "restricted" in refused.value.remedy


def test_bytes_of_any_value_go_there_and_back(enter):
    _, connection = enter()
    channel = start_python(connection, ECHO)
    everything = bytes(range(256)) * 4000

    received = b""
    for start in range(0, len(everything), 50_000):
        channel.write(everything[start : start + 50_000])
        while len(received) < min(start + 50_000, len(everything)):
            received += channel.read(65536)
    channel.end_input()

    assert received == everything
    assert channel.read(1) == b""


def test_three_megabytes_of_complaints_do_not_keep_the_answer_from_coming(enter):
    _, connection = enter()

    channel = start_python(connection, "import sys\nsys.stderr.write('complaint\\n' * 300_000)\nprint('answer')\n")

    assert all_of(channel) == b"answer\n"
    deadline = time.monotonic() + 10  # the two streams end on their own
    while not channel.said().endswith("complaint"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_program_sees_the_end_when_the_channel_is_closed(enter):
    machine, connection = enter()
    channel = start_python(connection, ECHO)
    assert machine.running("os.read(0, 65536)")

    channel.close()

    deadline = time.monotonic() + 10
    while machine.running("os.read(0, 65536)"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("fault", ["cut", "freeze"])
def test_a_link_that_dies_silently_is_noticed(fault, enter):
    machine, connection = enter(impatient=True)
    channel = start_python(connection, ECHO)
    began = time.monotonic()

    getattr(machine, fault)()

    with pytest.raises(ChannelLost, match="did not answer for"):
        channel.read(1)
    assert time.monotonic() - began < 20
    with pytest.raises(ChannelLost):
        channel.write(b"x")


def test_a_killed_sshd_is_noticed_at_once(enter):
    machine, connection = enter()
    channel = start_python(connection, ECHO)

    machine.kill_sshd()

    with pytest.raises(ChannelLost, match="broke"):
        channel.read(1)


def test_a_program_that_falls_silent_is_given_up_on(enter):
    _, connection = enter()
    channel = start_python(connection, "import time; time.sleep(1000)", silence=timedelta(seconds=1))

    with pytest.raises(ChannelLost, match="nothing was heard for 1 seconds"):
        channel.read(1)


def test_a_machine_that_opens_no_more_sessions_says_what_to_change(enter):
    _, connection = enter(sshd="MaxSessions 1")
    channel = start_python(connection, ECHO)

    with pytest.raises(SessionRefused, match="opens no session") as refused:
        ask_facts(connection, sudo=False)

    assert "MaxSessions" in refused.value.remedy
    channel.write(b"x")
    assert channel.read(1) == b"x"


def test_one_session_after_the_other_is_enough(enter):
    _, connection = enter(sshd="MaxSessions 1")

    for number in range(5):
        assert ask(connection, f"echo {number}", deadline=SOON) == f"{number}\n".encode()


def test_an_account_that_may_only_forward_is_explained(enter):
    _, connection = enter(sshd="MaxSessions 0")

    with pytest.raises(SessionRefused, match="opens no session"):
        ask_facts(connection, sudo=False)


def test_without_python_the_refusal_says_what_to_install(enter):
    _, connection = enter(python=False)

    with pytest.raises(PythonMissing, match=r"no Python 3\.8 or newer") as refused:
        start_python(connection, ECHO)

    assert "install python3" in refused.value.remedy
    assert ask_facts(connection, sudo=False).python == ""


def test_an_old_python_under_the_first_name_is_passed_over(enter):
    old = "#!/bin/sh\nexit 1\n"
    _, connection = enter(programs={"python3": old})

    assert all_of(start_python(connection, "import sys; print(sys.version_info >= (3, 8))")) == b"True\n"


def test_sudo_runs_the_program_as_root(enter):
    _, connection = enter("worker", sudo="worker ALL=(root) NOPASSWD: ALL")

    assert all_of(start_python(connection, "import os; print(os.getuid())", sudo=True)) == b"0\n"
    assert all_of(start_python(connection, "import os; print(os.getuid())")) == b"2001\n"


@pytest.mark.parametrize("rule", ["worker ALL=(root) ALL", ""], ids=["password needed", "not in sudoers"])
def test_a_sudo_that_asks_for_a_password_is_answered_with_the_line_it_needs(rule, enter):
    _, connection = enter("worker", sudo=rule)

    with pytest.raises(SudoRefused, match="sudo: a password is required") as refused:
        start_python(connection, ECHO, sudo=True)

    assert "worker ALL=(root) NOPASSWD: ALL" in refused.value.remedy
    assert "password" in ask_facts(connection, sudo=True).sudo_problem


def test_a_machine_says_who_it_is(enter):
    machine, connection = enter("worker", startup=NOISE.replace("\\\\", "\\"))

    facts = ask_facts(connection, sudo=False)

    assert (facts.machine_id, facts.hostname, facts.system) == (machine.machine_id, "alpha", "Linux")
    assert (facts.user_id, facts.sudo_problem) == (2001, "")
    assert facts.python.startswith("/")
    assert facts.python_version.startswith("3.")
    assert abs(datetime.now(UTC) - facts.clock) < timedelta(seconds=30)


def test_markers_of_roots_are_found_whatever_the_name(enter):
    machine, connection = enter()
    awkward = bytes(DATA) + b"/a'b\n\xff c"
    machine.inside(
        "bash", "-c", f"mkdir -p {word(awkward + b'/.artifactctl')} && touch {word(awkward)}/.artifactctl/root.json"
    )

    assert ask_facts(connection, sudo=False, roots=(bytes(DATA), awkward)).markers == (awkward,)


def test_an_answer_without_its_trailer_is_none(enter):
    _, connection = enter()

    with pytest.raises(Unreachable, match="cut off"):
        ask(connection, "echo 4096; kill -9 $$; sleep 5", deadline=SOON)
    with pytest.raises(SessionRefused, match="no such thing"):
        ask(connection, "echo 4096; echo no such thing >&2; exit 3", deadline=SOON)
    assert ask(connection, "echo 4096", deadline=SOON) == b"4096\n"


def test_a_question_does_not_outlive_its_asker(enter):
    machine, connection = enter()

    with pytest.raises(Unreachable, match="nothing was heard"):
        ask(connection, "sleep 1234", deadline=timedelta(seconds=1))

    deadline = time.monotonic() + 10
    while machine.running("sleep 1234"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
