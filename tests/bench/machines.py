"""Machines to reach over ssh: real sshd, each in namespaces of its own (network, mounts, processes, host name).

Only inside the sandbox. A machine has its own machine-id, accounts, programs and a filesystem of its own at `DATA`;
what can happen to one (frozen, cut off, sshd killed) is a method. `SshHome` is the other end: the folder of the person
who connects, with keys, known_hosts and ssh_config. All of it goes away with the test.
"""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.bench.volumes import Volume

DATA = Path("/run/data")
"""Where every machine has its own filesystem; the same path on each, as on rented machines."""

PORT = 2222
NETWORK = "10.77.0.0/16"
WORKER = 2001
_PLACES = Path("/run/machines")
_START_SECONDS = 20
_NUMBERS = itertools.count(1)

# $1 number, $2 folder, $3 host name, $4 data to bind ("" for a tmpfs). Then it does what it is told, a line at a time,
# and ends with its input: as process 1 it collects what is left of its children, and all of them end with it.
_INIT = f"""
set -eu
hostname "$3"
if [ -n "$4" ]; then mount --bind "$4" {DATA}; else mount -t tmpfs -o size=64m,mode=755 "data-$3" {DATA}; fi
mount -t overlay -o "lowerdir=/etc,upperdir=$2/etc,workdir=$2/work" "etc-$3" /etc
while IFS=' ' read -r over under; do mount --bind "$under" "$over"; done < "$2/over"
echo mounted
while IFS= read -r line; do eval "$line"; done
"""


def _dropping(*hooks: str) -> str:
    chains = (f"add chain inet cut {hook} {{ type filter hook {hook} priority 0; policy drop; }}\n" for hook in hooks)
    return "add table inet cut\n" + "".join(chains)


_CUT, _DEAFENED = _dropping("input", "output"), _dropping("input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fittings:
    """How a machine is made. `shell` is the login shell of root and worker, `startup` what its start-up file holds.

    `programs` are scripts by name, found before any other program; `python` False takes every python3 away. `sudo` is a
    line of sudoers, `sshd` are more lines of sshd_config, `host_keys` the kinds of its keys. `volume` becomes its data.
    `shares`: it sees the processes from here, and what is mounted later below `volume` (see `share_with_machines`),
    so that whoever tests it can hold and mount things from here.
    """

    machine_id: str = ""
    shell: str = "/bin/bash"
    startup: str = ""
    python: bool = True
    programs: Mapping[str, str] = field(default_factory=dict)
    sudo: str = ""
    sshd: str = ""
    host_keys: tuple[str, ...] = ("ed25519",)
    volume: Volume | None = None
    shares: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A running machine; `folder` holds its keys and homes and can be seen from here, `process` keeps it alive."""

    name: str
    number: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def host(self) -> str:
        """Its address."""
        return f"10.77.{self.number}.2"

    @property
    def gateway(self) -> str:
        """The address by which it reaches what listens here."""
        return f"10.77.{self.number}.1"

    @property
    def entering(self) -> tuple[str, ...]:
        """What comes before a command that is typed on the machine itself, as root."""
        target = str(self._first().pid)
        return ("nsenter", "--target", target, "--mount", "--uts", "--net", "--pid", "--")

    @property
    def host6(self) -> str:
        """Its address of IPv6."""
        return f"fd77:0:0:{self.number}::2"

    @property
    def machine_id(self) -> str:
        """The content of its /etc/machine-id."""
        return (self.folder / "etc" / "machine-id").read_text(encoding="ascii").strip()

    def address(self, user: str = "root") -> str:
        """Return what `host add` takes."""
        return f"ssh://{user}@{self.host}:{PORT}"

    def home(self, user: str = "root") -> Path:
        """Return the home of one of its users, as seen from here."""
        return self.folder / "home" / user

    @property
    def data(self) -> Path:
        """What it has at DATA, as seen from here."""
        return Path(f"/proc/{self._first().pid}/root{DATA}")

    def public_key(self, kind: str = "ed25519") -> str:
        """Return `type base64` of its host key."""
        return " ".join(self._key_file(kind).read_text(encoding="ascii").split()[:2])

    def fingerprint(self, kind: str = "ed25519") -> str:
        """Return what ssh-keygen says of its host key."""
        listed = subprocess.run(["ssh-keygen", "-lf", self._key_file(kind)], capture_output=True, text=True, check=True)
        return listed.stdout.split()[1]

    def let_in(self, public_key: Path) -> None:
        """Accept a key for every user."""
        with (self.folder / "authorized_keys").open("ab") as accepted:
            accepted.write(public_key.read_bytes())

    def inside(self, *words: str | Path, check: bool = True) -> str:
        """Run a command on the machine as root, without ssh, and return what it prints."""
        done = subprocess.run(
            [*self.entering, *words], capture_output=True, text=True, check=check, errors="surrogateescape"
        )
        return done.stdout

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Let a process of the machine, a `sleep`, have a file open."""
        script = 'exec 3<"$1"; echo open; exec sleep 300'
        command = [*self.entering, "sh", "-c", script, "reader", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as entering:
            assert entering.stdout is not None
            assert entering.stdout.readline() == b"open\n"
            try:
                yield
            finally:
                for child in psutil.Process(entering.pid).children():  # nsenter itself only waits for it
                    child.kill()

    def start_sshd(self) -> None:
        """Start sshd and wait until it listens."""
        self._tell(f"/usr/sbin/sshd -D -e -f {self.folder}/sshd_config 2>>{self.folder}/log &")
        self._wait_until_it_listens()

    def kill_sshd(self) -> None:
        """Kill sshd and every connection's own process; what those have started goes on."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):  # a connection's own ends with the one before it
                if process.name().startswith("sshd"):  # newer ones call a connection's own sshd-session
                    process.kill()

    def freeze(self) -> None:
        """Stop every process of the machine where it is; the kernel still acknowledges what is sent."""
        for process in self._processes():
            process.suspend()

    def thaw(self) -> None:
        """Let them go on."""
        for process in self._processes():
            process.resume()

    def cut(self) -> None:
        """Drop every packet to and from it, silently, as a partition does."""
        self._netfilter(_CUT)

    def mend(self) -> None:
        """Let packets through again."""
        self._netfilter("delete table inet cut\n")

    def unplug(self) -> None:
        """Take its cable out: the link is down on both sides, and nobody is told."""
        self._set_link("down")

    def plug_in(self) -> None:
        """Put the cable back."""
        self._set_link("up")

    def deafen(self) -> None:
        """Let what it says get out and nothing get in: it takes its connections for dead, the others do not."""
        self._netfilter(_DEAFENED)

    def lose_python(self) -> None:
        """Take every python3 away, as `python=False` does from the start."""
        for line in _without_python().splitlines():
            path, nothing = line.split()
            self.inside("mount", "--bind", nothing, path)

    def running(self, words: str) -> list[psutil.Process]:
        """Return its processes whose command line holds `words`."""
        return [process for process in self._processes() if words in " ".join(_words_of(process))]

    def _set_link(self, state: str) -> None:
        subprocess.run(["ip", "link", "set", f"mach{self.number}h", state], check=True)

    def _netfilter(self, rules: str) -> None:
        command = ["nsenter", "--target", str(self._first().pid), "--net", "nft", "-f", "-"]
        subprocess.run(command, input=rules.encode(), check=True)

    def _first(self) -> psutil.Process:
        """Return its process 1, as seen from here."""
        return psutil.Process(self.process.pid).children()[0]

    def _processes(self) -> list[psutil.Process]:
        first = self._first()
        return [process for process in (first, *first.children(recursive=True)) if process.is_running()]

    def _key_file(self, kind: str) -> Path:
        return self.folder / f"ssh_host_{kind}_key.pub"

    def _tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                with socket.create_connection((self.host, PORT), timeout=1) as connected:
                    if connected.recv(4) == b"SSH-":
                        return
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not listen: {(self.folder / 'log').read_text()}")
            time.sleep(0.02)


def _words_of(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie included
        return []


@contextmanager
def running_machine(name: str, fittings: Fittings = Fittings()) -> Iterator[Machine]:
    """Start a machine and end it with the context."""
    DATA.mkdir(exist_ok=True)
    _PLACES.mkdir(exist_ok=True)
    number = next(_NUMBERS)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_PLACES))
    folder.chmod(0o755)
    try:
        _furnish(folder, name, fittings)
        process = _start(number, folder, name, fittings)
        machine = Machine(name=name, number=number, folder=folder, process=process)
        try:
            _connect(machine)
            machine.start_sshd()
            yield machine
        finally:
            _end(machine)
    finally:
        shutil.rmtree(folder)


def share_with_machines(volume: Volume) -> None:
    """Let machines that are started from now on with `shares` see what is mounted below the volume."""
    subprocess.run(["mount", "--make-shared", volume.mount], check=True, capture_output=True)


def _start(number: int, folder: Path, name: str, fittings: Fittings) -> subprocess.Popen[bytes]:
    own = ("--propagation", "slave") if fittings.shares else ("--pid", "--mount-proc")
    unshare = ("unshare", "--mount", "--uts", "--net", *own, "--fork", "--kill-child")
    data = str(fittings.volume.mount) if fittings.volume else ""
    process = subprocess.Popen(
        [*unshare, "bash", "-c", _INIT, "machine", str(number), str(folder), name, data],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
    )
    assert process.stdout is not None
    if process.stdout.readline() != b"mounted\n":
        process.kill()
        process.communicate()
        raise RuntimeError(f"the machine {name} did not start")
    return process


def _connect(machine: Machine) -> None:
    """Lay a cable: this side has the addresses that end in 1, the machine those that end in 2."""
    here, there, number = f"mach{machine.number}h", f"mach{machine.number}m", machine.number
    inside = ("nsenter", "--target", str(machine.process.pid), "--net", "ip")
    commands = [
        ("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", str(machine.process.pid)),
        ("ip", "addr", "add", f"10.77.{number}.1/24", "dev", here),
        ("ip", "addr", "add", f"fd77:0:0:{number}::1/64", "dev", here, "nodad"),
        ("ip", "link", "set", here, "up"),
        (*inside, "link", "set", "lo", "up"),
        (*inside, "addr", "add", f"10.77.{number}.2/24", "dev", there),
        (*inside, "addr", "add", f"fd77:0:0:{number}::2/64", "dev", there, "nodad"),
        (*inside, "link", "set", there, "up"),
        (*inside, "route", "add", "default", "via", f"10.77.{number}.1"),
    ]
    for command in commands:
        subprocess.run(command, check=True, capture_output=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")  # so that machines reach each other


def _end(machine: Machine) -> None:
    everything = psutil.Process(machine.process.pid).children(recursive=True)
    machine.process.send_signal(signal.SIGKILL)
    for process in everything:  # with processes of its own they end with it
        with suppress(psutil.NoSuchProcess):
            process.kill()
    machine.process.communicate()
    psutil.wait_procs(everything, timeout=_START_SECONDS)
    subprocess.run(["ip", "link", "delete", f"mach{machine.number}h"], check=False, capture_output=True)


def _furnish(folder: Path, name: str, fittings: Fittings) -> None:
    etc = folder / "etc"
    etc.mkdir()
    (folder / "work").mkdir()
    # sudo asks who its own machine is, and waits for ten seconds where nobody answers.
    (etc / "hosts").write_text(f"127.0.0.1 localhost {name}\n", encoding="ascii")
    (etc / "machine-id").write_text(f"{fittings.machine_id or os.urandom(16).hex()}\n", encoding="ascii")
    for user, number in (("root", 0), ("worker", WORKER)):
        home = folder / "home" / user
        home.mkdir(parents=True)
        for startup in (".bashrc", ".profile", ".cshrc"):
            (home / startup).write_text(fittings.startup, encoding="utf-8")
        os.chown(home, number, number)
    _write_accounts(etc, folder / "home", fittings)
    (etc / "ssh").mkdir()
    for kind in fittings.host_keys:
        _make_key(folder / f"ssh_host_{kind}_key", kind)
        shutil.copy(folder / f"ssh_host_{kind}_key.pub", etc / "ssh")
    (folder / "authorized_keys").touch(mode=0o644)
    (folder / "sshd_config").write_text(_sshd_config(folder, fittings), encoding="utf-8")
    (folder / "over").write_text("" if fittings.python else _without_python(), encoding="utf-8")
    (folder / "bin").mkdir()
    for program, script in fittings.programs.items():
        (folder / "bin" / program).write_text(script, encoding="utf-8")
        (folder / "bin" / program).chmod(0o755)


def _write_accounts(etc: Path, homes: Path, fittings: Fittings) -> None:
    shell = fittings.shell
    users = [f"root:x:0:0:root:{homes}/root:{shell}", f"worker:x:{WORKER}:{WORKER}:worker:{homes}/worker:{shell}"]
    others = [line for line in Path("/etc/passwd").read_text("utf-8").splitlines() if not line.startswith("root:")]
    (etc / "passwd").write_text("\n".join([*users, *others]) + "\n", encoding="utf-8")
    (etc / "group").write_text(f"{Path('/etc/group').read_text('utf-8')}worker:x:{WORKER}:\n", encoding="utf-8")
    names = [line.split(":")[0] for line in (*users, *others)]
    (etc / "shadow").write_text("".join(f"{name}:*:20000:0:99999:7:::\n" for name in names), encoding="utf-8")
    (etc / "sudoers").write_text(f"root ALL=(ALL:ALL) ALL\n{fittings.sudo}\n", encoding="utf-8")
    (etc / "sudoers").chmod(0o440)


def _sshd_config(folder: Path, fittings: Fittings) -> str:
    keys = "".join(f"HostKey {folder}/ssh_host_{kind}_key\n" for kind in fittings.host_keys)
    return (
        f"{fittings.sshd}\n{keys}Port {PORT}\nPidFile none\nAuthorizedKeysFile {folder}/authorized_keys\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nUseDNS no\n"
        "PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n"
        f"SetEnv PATH={folder}/bin:/usr/local/bin:/usr/bin:/bin\n"
    )


def _without_python() -> str:
    """Return lines `PROGRAM /dev/null`, which is no program."""
    found = {os.path.realpath(path) for place in ("/usr/bin", "/usr/local/bin") for path in _pythons(Path(place))}
    return "".join(f"{path} /dev/null\n" for path in sorted(found))


def _pythons(folder: Path) -> list[Path]:
    return [path for path in folder.glob("python3*") if path.exists() and not path.name.endswith("-config")]


def _make_key(file: Path, kind: str = "ed25519", passphrase: str = "") -> None:
    size = ["-b", "2048"] if kind == "rsa" else []
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-C", file.name, "-f", file], check=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHome:
    """The home of the person who connects."""

    home: Path

    @property
    def folder(self) -> Path:
        """Its `.ssh`."""
        return self.home / ".ssh"

    @property
    def environment(self) -> dict[str, str]:
        """What a connection made by this person sees."""
        return {"HOME": str(self.home)}

    @property
    def known_hosts(self) -> Path:
        """Its known_hosts."""
        return self.folder / "known_hosts"

    def make_key(self, name: str = "id_ed25519", *, kind: str = "ed25519", passphrase: str = "") -> Path:
        """Make a key pair and return the private half."""
        _make_key(self.folder / name, kind, passphrase)
        return self.folder / name

    def can_enter(self, *machines: Machine) -> None:
        """Make the usual key if there is none, and let it in on the machines."""
        key = self.folder / "id_ed25519"
        if not key.exists():
            self.make_key()
        for machine in machines:
            machine.let_in(Path(f"{key}.pub"))

    def knows(self, machine: Machine, kind: str = "ed25519") -> None:
        """Pin the machine's key, as ssh would have done at the first contact."""
        with self.known_hosts.open("a", encoding="ascii") as file:
            file.write(f"[{machine.host}]:{PORT} {machine.public_key(kind)}\n")

    def configure(self, text: str) -> None:
        """Write ssh_config."""
        file = self.folder / "config"
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)


def ssh_home(home: Path) -> SshHome:
    """Return a home with its `.ssh`, which is empty the first time."""
    found = SshHome(home=home)
    found.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    return found
