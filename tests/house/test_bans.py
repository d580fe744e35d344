"""Calls that nothing here may make: reading the clock anywhere, unpickling, handing strings to a shell."""

import ast
from collections.abc import Callable

import pytest

from tests.bench.words import words
from tests.house.sources import Call, calls, calls_in, modules

CLOCKS = words(
    """
    datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today
    time.time time.time_ns time.localtime time.gmtime time.clock_gettime
    """
)
MAY_READ_THE_CLOCK = ("artifactctl/cli/clock.py", "artifactctl/hosts/probe/")


def reads_the_clock(call: Call) -> bool:
    """Whether the call says what time it is; how long something took (`time.monotonic`) is no date."""
    return call.name in CLOCKS


def unpickles(call: Call) -> bool:
    """Whether the call can run what a file says: pickle, and torch.load unless it is told `weights_only=True`."""
    if call.name in ("torch.load", ".load_state_dict_from_file"):
        return not _says_true(call, "weights_only")
    return call.name in (
        "pickle.load",
        "pickle.loads",
        "pickle.Unpickler",
        "marshal.load",
        "marshal.loads",
        "shelve.open",
    )


def asks_a_shell(call: Call) -> bool:
    """Whether the call hands a string to a shell."""
    return call.name in ("os.system", "os.popen") or any(keyword.arg == "shell" for keyword in call.node.keywords)


def _says_true(call: Call, argument: str) -> bool:
    given = [keyword.value for keyword in call.node.keywords if keyword.arg == argument]
    return any(isinstance(value, ast.Constant) and value.value is True for value in given)


BANS = pytest.mark.parametrize(
    ("is_banned", "exempt"),
    [(reads_the_clock, MAY_READ_THE_CLOCK), (unpickles, ()), (asks_a_shell, ())],
    ids=["clock", "pickle", "shell"],
)


@BANS
def test_no_module_makes_a_banned_call(is_banned: Callable[[Call], bool], exempt: tuple[str, ...]) -> None:
    found = [
        call.place
        for module in modules("artifactctl", "extract", "train", "migrations")
        if not module.startswith(exempt or ("-",))
        for call in calls(module)
        if is_banned(call)
    ]

    assert found == []


@pytest.mark.parametrize(
    ("is_banned", "source"),
    [
        (reads_the_clock, "from datetime import datetime\ndatetime.now(UTC)"),
        (reads_the_clock, "import datetime as d\nd.datetime.utcnow()"),
        (reads_the_clock, "from time import time as t\nt()"),
        (unpickles, "import pickle\npickle.load(f)"),
        (unpickles, "import torch\ntorch.load(f)"),
        (unpickles, "import torch\ntorch.load(f, weights_only=False)"),
        (asks_a_shell, "import subprocess\nsubprocess.run(x, shell=True)"),
        (asks_a_shell, "import os\nos.system(x)"),
    ],
)
def test_each_ban_finds_what_it_bans(is_banned: Callable[[Call], bool], source: str) -> None:
    assert any(is_banned(call) for call in calls_in(source, "example.py"))


@pytest.mark.parametrize(
    ("is_banned", "source"),
    [
        (reads_the_clock, "clock.now()"),
        (reads_the_clock, "import time\ntime.monotonic()"),
        (unpickles, "import torch\ntorch.load(f, weights_only=True)"),
        (unpickles, "import json\njson.load(f)"),
        (asks_a_shell, "import subprocess\nsubprocess.run([x])"),
    ],
)
def test_each_ban_leaves_the_rest_alone(is_banned: Callable[[Call], bool], source: str) -> None:
    assert not any(is_banned(call) for call in calls_in(source, "example.py"))
