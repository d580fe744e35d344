"""`host add`, `host ls` and `host check` against real machines."""

import sys
from dataclasses import replace
from datetime import timedelta

import pexpect
import pytest

from artifactctl.catalog import create_or_upgrade
from artifactctl.domain.artifacts import Root
from tests.bench.clocks import NOON
from tests.bench.machines import DATA, PORT, ssh_home

pytestmark = pytest.mark.system


@pytest.fixture
def run(warm_cli):
    """Return the command line of the person at home, with a catalog."""
    assert warm_cli("init").code == 0
    return warm_cli


@pytest.fixture
def ssh(warm_cli):
    """The home of the command line, with an empty `.ssh`."""
    return ssh_home(warm_cli.home)


def hosts(run):
    return {each["name"]: each for each in run("host", "ls", "--json").json()["hosts"]}


def others(run):
    return {name for name, each in hosts(run).items() if each["address"]}


def test_a_machine_is_added_with_the_key_that_known_hosts_pins(run, machine):
    added = run("host", "add", "gpu1", machine.address(), "--json")

    assert added.code == 0, added.stderr
    assert added.json() == {
        "schema": "artifactctl.host/1",
        "name": "gpu1",
        "address": machine.address(),
        "machine_id": machine.machine_id,
        "host_key": machine.public_key(),
        "fingerprint": machine.fingerprint(),
        "uses_sudo": False,
    }
    assert hosts(run)["gpu1"]["fingerprint"] == machine.fingerprint()
    assert machine.fingerprint() in run("host", "ls").stdout
    (event,) = run("audit", "ls", "--action", "host.add", "--json").json()["events"]
    shown = run("audit", "show", str(event["id"]), "--json").stdout
    assert machine.fingerprint() in shown
    assert "known_hosts" in shown


def test_a_machine_is_added_by_its_fingerprint_and_by_no_other(run, machines, ssh):
    machine, other = machines("alpha"), machines("beta")
    ssh.can_enter(machine)

    wrong = run("host", "add", "gpu1", machine.address(), "--host-key", other.fingerprint(), "--yes")
    right = run("host", "add", "gpu1", machine.address(), "--host-key", machine.fingerprint())
    nonsense = run("host", "add", "gpu2", machine.address(), "--host-key", "ab:cd")

    assert (wrong.code, right.code, nonsense.code) == (4, 0, 2)
    assert other.fingerprint() in wrong.stderr
    assert machine.fingerprint() in wrong.stderr
    assert others(run) == {"gpu1"}


def test_yes_never_accepts_an_unknown_key(run, machines, ssh):
    machine = machines()
    ssh.can_enter(machine)

    refused = run("host", "add", "gpu1", machine.address(), "--yes")

    assert refused.code == 2
    assert machine.fingerprint() in refused.stderr
    assert "--host-key" in refused.stderr
    assert others(run) == set()
    assert not ssh.known_hosts.exists()


@pytest.mark.parametrize(("answer", "code"), [("yes", 0), ("y", 4), ("", 4)])
def test_on_a_terminal_the_fingerprint_is_shown_and_asked_for_once(answer, code, run, machines, ssh):
    machine = machines()
    ssh.can_enter(machine)
    words = ["-m", "artifactctl", "host", "add", "gpu1", machine.address(), "--yes"]

    person = pexpect.spawn(sys.executable, words, env=run.environment, cwd=str(run.cwd), timeout=30, encoding="utf-8")
    person.expect_exact(machine.fingerprint())
    person.expect_exact("Type yes to go on: ")
    person.sendline(answer)
    person.expect(pexpect.EOF)
    person.close()

    assert person.exitstatus == code
    assert others(run) == ({"gpu1"} if answer == "yes" else set())
    if answer == "yes":
        assert run("host", "check", "gpu1").code == 0


def test_a_passphrase_is_asked_for_on_a_terminal_and_named_as_the_reason_elsewhere(run, machines, ssh):
    machine = machines()
    ssh.knows(machine)
    key = ssh.make_key(passphrase="correct horse")
    machine.let_in(key.with_suffix(".pub"))
    words = ["-m", "artifactctl", "host", "add", "gpu1", machine.address()]

    refused = run(*words[2:])
    person = pexpect.spawn(sys.executable, words, env=run.environment, cwd=str(run.cwd), timeout=30, encoding="utf-8")
    person.expect_exact(f"Passphrase of {key}")
    person.sendline("correct horse")
    person.expect(pexpect.EOF)
    person.close()

    assert refused.code == 4
    assert f"ssh-add {key}" in refused.stderr
    assert person.exitstatus == 0


def test_equal_machine_ids_never_make_two_machines_one(run, machines, ssh):
    first = machines("alpha")
    second = machines("beta", machine_id=first.machine_id)
    for machine in (first, second):
        ssh.can_enter(machine)
        ssh.knows(machine)

    assert run("host", "add", "gpu1", first.address()).code == 0
    added = run("host", "add", "gpu2", second.address())

    assert added.code == 0
    assert "gpu1 has the same machine id" in added.stderr
    assert hosts(run)["gpu1"]["host_key"] != hosts(run)["gpu2"]["host_key"]
    assert hosts(run)["gpu1"]["machine_id"] == hosts(run)["gpu2"]["machine_id"]


def test_another_machine_behind_a_known_name_is_refused_with_what_differs(run, machines, ssh):
    first, second = machines("alpha"), machines("beta")
    for machine in (first, second):
        ssh.can_enter(machine)
        ssh.knows(machine)
    assert run("host", "add", "gpu1", first.address()).code == 0

    refused = run("host", "add", "gpu1", second.address())

    assert refused.code == 4
    for shown in (first.machine_id, second.machine_id, first.fingerprint(), second.fingerprint()):
        assert shown in refused.stderr
    assert hosts(run)["gpu1"]["address"] == first.address()


def test_adding_a_machine_again_changes_nothing_and_under_another_name_is_refused(run, machine):
    run("host", "add", "gpu1", machine.address())

    again = run("host", "add", "gpu1", machine.address())
    twice = run("host", "add", "gpu2", machine.address())

    assert (again.code, twice.code) == (0, 4)
    assert "known as gpu1 already" in twice.stderr
    assert len(run("audit", "ls", "--action", "host.add", "--json").json()["events"]) == 1


def test_a_forgotten_machine_comes_back_as_the_one_it_was_and_nobody_else_gets_its_name(run, machine, machines, ssh):
    run("host", "add", "gpu1", machine.address())
    number = hosts(run)["gpu1"]
    assert run("host", "forget", "gpu1", "--yes").code == 0
    stranger = machines("beta")
    ssh.can_enter(stranger)
    ssh.knows(stranger)

    unknown = run("host", "check", "gpu1")
    taken = run("host", "add", "gpu1", stranger.address())
    renamed = run("host", "add", "gpu9", machine.address())
    back = run("host", "add", "gpu1", machine.address())

    assert (unknown.code, taken.code, renamed.code, back.code) == (2, 4, 4, 0)
    assert "was known as gpu1 already" in renamed.stderr
    assert f"artifactctl host add gpu1 {machine.address()}" in renamed.stderr
    assert hosts(run)["gpu1"] == number
    assert [
        event["action"] for event in run("audit", "ls", "--json").json()["events"] if "host." in event["action"]
    ] == [
        "host.add",
        "host.forget",
        "host.add",
    ]


def test_a_machine_without_a_machine_id_is_refused(run, machines, ssh):
    machine = machines(machine_id="uninitialized")
    ssh.can_enter(machine)
    ssh.knows(machine)

    refused = run("host", "add", "gpu1", machine.address())

    assert refused.code == 4
    assert "systemd-machine-id-setup" in refused.stderr


def test_sudo_that_needs_a_password_is_refused_with_the_line_for_sudoers(run, machines, ssh):
    machine = machines(sudo="worker ALL=(root) ALL")
    ssh.can_enter(machine)
    ssh.knows(machine)

    refused = run("host", "add", "gpu1", machine.address("worker"), "--sudo")

    assert refused.code == 4
    assert "worker ALL=(root) NOPASSWD: ALL" in refused.stderr
    assert others(run) == set()


def test_a_check_says_everything_about_a_machine_that_is_well(run, machines, ssh):
    machine = machines(sudo="worker ALL=(root) NOPASSWD: ALL")
    ssh.can_enter(machine)
    ssh.knows(machine)
    run("host", "add", "gpu1", machine.address("worker"), "--sudo")

    checked = run("host", "check", "gpu1", "--json")
    said = run("host", "check", "gpu1")

    assert (checked.code, said.code) == (0, 0)
    found = checked.json()
    assert found["schema"] == "artifactctl.host-check/1"
    assert (found["ok"], found["reachable"], found["is_root"], found["problems"]) == (True, True, True, [])
    assert (found["hostname"], found["system"], found["machine_id_found"]) == ("alpha", "Linux", machine.machine_id)
    assert 0 < found["latency_seconds"] < 1
    assert abs(found["clock_skew_seconds"]) <= found["clock_uncertainty_seconds"] + 1
    assert found["python_version"].startswith("3.")
    assert "nothing is wrong with it" in said.stdout


def test_a_check_names_each_thing_that_is_wrong(run, machines, ssh):
    machine = machines(python=False)
    ssh.can_enter(machine)
    ssh.knows(machine)
    added = run("host", "add", "gpu1", machine.address())
    (machine.folder / "etc" / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")

    checked = run("host", "check", "gpu1", "--json")

    assert "no Python 3.8" in added.stderr
    assert checked.code == 3
    wrong = [problem["what"] for problem in checked.json()["problems"]]
    assert any("another machine" in what for what in wrong)
    assert any("Python 3.8" in what for what in wrong)


def test_a_check_looks_for_the_markers_of_the_roots_there(run, machine):
    run("host", "add", "gpu1", machine.address())
    machine.inside("mkdir", "-p", DATA / "marked" / ".artifactctl", DATA / "bare")
    machine.inside("touch", DATA / "marked" / ".artifactctl" / "root.json")
    catalog = create_or_upgrade(run.home / "state" / "artifactctl" / "catalog.db", now=NOON)
    with catalog.writing("ada", NOON) as writing:
        known = writing.host("gpu1")
        assert known is not None
        for name in ("marked", "bare"):
            writing.add_root(root_at(DATA / name, name, host_id=known.host_id))
    catalog.close()

    checked = run("host", "check", "gpu1", "--json")

    assert checked.code == 3
    assert {root["name"]: root["is_marked"] for root in checked.json()["roots"]} == {"marked": True, "bare": False}
    assert [problem["what"] for problem in checked.json()["problems"]] == ["the root bare has no marker there"]
    assert f"bare, {DATA}/bare: no marker there" in run("host", "check", "gpu1").stdout


def root_at(path, name, *, host_id):
    return Root(
        root_id=f"root-{name}",
        name=name,
        host_id=host_id,
        path=bytes(path),
        filesystem_uuid="there",
        filesystem_type="tmpfs",
        inode=1,
    )


def test_a_check_of_a_machine_whose_clock_is_off_says_by_how_much(run, machine):
    run("host", "add", "gpu1", machine.address())

    checked = replace(run, clock_ahead=timedelta(minutes=10))("host", "check", "gpu1", "--json")

    assert checked.code == 3
    assert checked.json()["clock_skew_seconds"] == pytest.approx(-600, abs=30)
    assert "its clock is off" in checked.json()["problems"][0]["what"]


@pytest.mark.parametrize(
    ("fault", "words"), [("cut", "no answer within 1 seconds"), ("kill_sshd", "nothing listens on port")]
)
def test_a_machine_that_cannot_be_reached_is_an_answer_too(fault, words, run, machine, ssh):
    run("host", "add", "gpu1", machine.address())
    ssh.configure("ConnectTimeout 1\n")

    getattr(machine, fault)()
    checked = run("host", "check", "gpu1", "--json")

    assert checked.code == 3
    assert (checked.json()["reachable"], checked.json()["latency_seconds"]) == (False, None)
    assert words in checked.json()["problems"][0]["what"]


def test_a_key_that_changed_since_is_a_problem_with_both_fingerprints(run, machine, machines, ssh):
    run("host", "add", "gpu1", machine.address())
    other = machines("beta", host_keys=("ed25519",))
    for part in ("", ".pub"):
        (machine.folder / f"ssh_host_ed25519_key{part}").write_bytes(
            (other.folder / f"ssh_host_ed25519_key{part}").read_bytes()
        )
    machine.kill_sshd()
    machine.start_sshd()
    ssh.known_hosts.write_text(f"[{machine.host}]:{PORT} {other.public_key()}\n")

    (problem,) = run("host", "check", "gpu1", "--json").json()["problems"]

    assert other.fingerprint() in problem["what"]
    assert hosts(run)["gpu1"]["fingerprint"] in problem["what"]


def test_words_that_lead_nowhere_are_refused_before_anything_is_asked(run):
    for address in ("gpu1", "http://gpu1", "ssh://", "ssh://a:secret@gpu1", "ssh://-oProxyCommand=x", "ssh://gpu1:0"):
        assert run("host", "add", "gpu1", address).code == 2, address
    assert run("host", "check", "nobody").code == 2
    assert "secret" not in run("host", "add", "gpu1", "ssh://a:secret@gpu1").stderr


def test_nothing_of_the_connection_is_said_on_stderr_but_the_error(run, machine):
    machine.kill_sshd()

    refused = run("host", "add", "gpu1", machine.address())

    assert refused.stdout == ""
    assert [line.split(":")[0] for line in refused.stderr.splitlines()] == ["error", "hint"]
    assert refused.code == 1
