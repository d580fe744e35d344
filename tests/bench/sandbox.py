"""Whether system tests may run here: only as root, with loop devices, in the namespace that sandbox.sh throws away."""

import os
from pathlib import Path

SANDBOX_VARIABLE = "ARTIFACTCTL_SANDBOX"
REQUIRE_VARIABLE = "ARTIFACTCTL_REQUIRE_SYSTEM"

CHECKOUT = Path(__file__).resolve().parents[2]


def why_no_system_tests() -> str:
    """Return the reason why system tests cannot run here, "" when they can."""
    if os.geteuid() != 0:
        return "system tests need root; run `make test` as root"
    if not os.path.exists("/dev/loop-control"):
        return "system tests need loop devices; this kernel or container has no /dev/loop-control"
    # The variable carries the namespace's own id: inherited by a process outside of it, it proves nothing.
    if os.environ.get(SANDBOX_VARIABLE) != os.readlink("/proc/self/ns/mnt"):
        return "system tests run in a namespace of their own; start them as `tests/bench/sandbox.sh python -m pytest`"
    return ""


def system_tests_are_demanded() -> bool:
    """Whether a system test that cannot run is a failure instead of a skip."""
    return os.environ.get(REQUIRE_VARIABLE, "") not in ("", "0")
