"""Invariant I6: what only looks makes no changing system call below the root and leaves the catalog as it is."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from tests.bench.sandbox import CHECKOUT
from tests.bench.site import ROOT_NAME, Site
from tests.bench.system_calls import strace_run

pytestmark = pytest.mark.system

READ_ONLY = (
    "reclaim vol/old --dry-run",
    "reclaim vol/old --dry-run --purge-now --json",
    "reclaim vol --dry-run",
    "reclaim vol --need 1KiB --dry-run",
    "reclaim vol/only --dry-run",
    "why vol/old",
    "why vol/aside",
    "ls",
    "ls --json",
    "show vol/old",
    "lineage vol/old",
    "du",
    "df",
    "df --json",
    "quarantine ls",
    "quarantine purge vol/aside --dry-run",
    "quarantine purge --expired --dry-run",
    "doctor",
    "scan --dry-run",
    "scan vol --dry-run --json",
    "hold ls",
    "lease ls",
    "reservation ls",
    "root ls",
    "audit ls",
    "audit show 1",
    "audit verify",
    "audit export",
    "plan extraction --tokens 1M --volume vol",
    "plan extraction --tokens 87.8M --model kimi-k2.5 --layers 2,30,58 --volume vol --json",
    "plan training --tokens 1M --draft-params 2.6B --keep 3 --volume vol",
)

# Every command runs in a fork that strace follows; the driver tells which process ran which command, and its end.
DRIVER = """
import json, os, sys
from tests.bench.forking import leave, load_modules, run
load_modules()
told = []
for words in json.loads(sys.argv[1]):
    process = os.fork()
    if process == 0:
        out = os.open("/dev/null", os.O_WRONLY)
        os.dup2(out, 1)
        sys.argv[:] = ["artifactctl", *words]
        leave(run)
    told.append((process, words, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])))
print(json.dumps(told))
"""


def with_every_state(site: Site) -> None:
    """One artifact that may go, one in quarantine, one that nobody can rebuild, a hold, a stray."""
    site.superseded("old")
    site.set_aside(site.superseded("aside"))
    site.dump("only")
    site.done("scan", ROOT_NAME)
    site.done("hold", "add", "vol/only", "--reason", "test")
    (site.root / "nobody's").write_text("x")


def catalog_digest(site: Site) -> dict[str, str]:
    """Return a digest of every file of the catalog; an absent log and an empty one are the same."""
    folder = site.cli.home / "state" / "artifactctl"
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size and not path.name.endswith("-shm")
    }


def test_what_only_looks_changes_nothing(site: Site) -> None:
    with_every_state(site)
    before = catalog_digest(site)
    commands = [line.split() for line in READ_ONLY]

    traced = strace_run(
        [sys.executable, "-c", DRIVER, json.dumps(commands)],
        below=site.root,
        cwd=site.cli.cwd,
        env={**site.cli.environment, "PYTHONPATH": str(CHECKOUT)},
    )

    assert traced.code == 0, traced.stderr
    told = {process: " ".join(words) for process, words, _ in json.loads(traced.stdout)}
    assert [(told.get(call.process), call.name, call.path) for call in traced.calls] == []
    ended = {" ".join(words): code for _, words, code in json.loads(traced.stdout)}
    assert {words: code for words, code in ended.items() if code not in (0, 3, 4)} == {}, traced.stderr
    assert catalog_digest(site) == before


def test_the_same_driver_sees_a_command_that_does_change_something(site: Site) -> None:
    site.superseded("old")

    traced = strace_run(
        [sys.executable, "-c", DRIVER, json.dumps([["reclaim", "vol/old", "--yes", "--reason", "test"]])],
        below=site.root,
        cwd=site.cli.cwd,
        env={**site.cli.environment, "PYTHONPATH": str(CHECKOUT)},
    )

    assert json.loads(traced.stdout)[0][2] == 0, traced.stderr
    assert {"renameat2"} & {call.name for call in traced.calls}


def test_a_dry_run_without_any_catalog_makes_none(site: Site, tmp_path: Path) -> None:
    site.dump("old")
    nowhere = tmp_path / "none" / "catalog.db"

    said = site("--catalog", nowhere, "reclaim", site.root / "old", "--dry-run")

    assert said.code in (2, 4), said
    assert not nowhere.parent.exists()


def digest(site: Site, *words: str) -> str:
    return str(site("reclaim", *words, "--dry-run", "--json").json()["plan_digest"])


def test_an_unchanged_world_gives_the_same_digest_and_a_restore_another(site: Site) -> None:
    name = site.superseded("old")
    first = digest(site, name)
    assert digest(site, name) == first

    site.done("ls")
    assert digest(site, name) == first
    assert digest(site, name, "--purge-now") != first

    site.set_aside(name)
    site.done("quarantine", "restore", name)
    assert digest(site, name) != first
