"""Who a machine is and what can be done there: one question, answered by /bin/sh alone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.asking import ask
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.failures import SessionRefused
from artifactctl.hosts.ssh.python import find_python
from artifactctl.hosts.ssh.shell import word

FACTS_TIMEOUT = timedelta(seconds=60)
MARKER = b".artifactctl/root.json"

# Fields end with NUL, so that no value can be taken for another one. `date` of busybox and of a Mac knows no %N.
_FIELDS = """\
say() { printf "%s=%s\\000" "$1" "$2"; }
for file in /etc/machine-id /var/lib/dbus/machine-id; do
  [ -z "$id" ] && [ -r "$file" ] && IFS= read -r id <"$file"
done
say machine_id "$id"
say system "$(uname -s)"
say hostname "$(uname -n)"
say user_id "$(id -u)"
say now "$(date -u +%s.%N)"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """What a machine said of itself. `machine_id` is "" where it has none, `python` the interpreter's path or "".

    `sudo_problem` is what sudo said when it would not run Python, "" when it did or was not asked. `markers` are the
    roots asked for whose marker is there. `clock` is the machine's own, read `elapsed` or less before the answer came.
    """

    machine_id: str
    hostname: str
    system: str
    user_id: int
    clock: datetime
    python: str
    python_version: str
    sudo_problem: str
    markers: tuple[bytes, ...]


def ask_facts(connection: Connection, *, sudo: bool, roots: tuple[bytes, ...] = ()) -> MachineFacts:
    """Return who the machine is; `roots` are folders whose marker is looked for, with sudo where that is used."""
    return _parsed(ask(connection, _script(roots, sudo=sudo), deadline=FACTS_TIMEOUT), connection, roots)


def _script(roots: tuple[bytes, ...], *, sudo: bool) -> str:
    version = word('import sys; print("%d.%d.%d" % sys.version_info[:3])')
    lines = [
        "id=",
        _FIELDS + find_python("python"),
        'say python "$python"',
        f'[ -z "$python" ] || say python_version "$("$python" -I -c {version} 2>/dev/null)"',
        "may=",
    ]
    if sudo:
        lines += [
            'if [ -n "$python" ]; then said=$(sudo -n -- "$python" -I -c "" 2>&1) && may="sudo -n --" || '
            'say sudo_problem "${said:-sudo failed}"; fi'
        ]
    for number, root in enumerate(roots):
        lines.append(f"$may test -f {word(root + b'/' + MARKER)} && say marker {number}")
    return "\n".join([*lines, "say end 1"])


def _parsed(answer: bytes, connection: Connection, roots: tuple[bytes, ...]) -> MachineFacts:
    fields: dict[str, str] = {}
    markers = []
    for field in answer.decode("utf-8", "surrogateescape").split("\0"):
        name, _, value = field.partition("=")
        if name == "marker":
            markers.append(roots[int(value)])
        fields[name] = value.strip()
    seconds = fields.get("now", "").removesuffix("%N").removesuffix("N").rstrip(".")
    if "end" not in fields or not seconds.replace(".", "", 1).isdigit() or not fields["user_id"].isdigit():
        raise SessionRefused(
            f"{connection.destination} does not say who it is: {printable(answer[:200].decode('utf-8', 'replace'))}",
            remedy="it needs id, uname and date, as every Linux has them",
        )
    return MachineFacts(
        machine_id=_known(fields["machine_id"]),
        hostname=printable(fields["hostname"]),
        system=printable(fields["system"]),
        user_id=int(fields["user_id"]),
        clock=datetime.fromtimestamp(float(seconds), tz=UTC),
        python=printable(fields["python"]),
        python_version=printable(fields.get("python_version", "")),
        sudo_problem=printable(fields.get("sudo_problem", "")),
        markers=tuple(markers),
    )


def _known(machine_id: str) -> str:
    """Return the id where it is one; a system that has not drawn one yet says `uninitialized`."""
    return "" if machine_id == "uninitialized" or not machine_id.isalnum() else machine_id
