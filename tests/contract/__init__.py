"""What any `Host` must do, written once and run over every implementation.

Each module here holds one class of tests over the fixture `workshop` (workshop.py says what that is).
`test_fake_machine.py` runs all of them over the in-memory machine, `tests/system/test_contract_local.py` over this one,
asked here and through an agent.
"""

import pytest

SUITES = (
    "conserving",
    "content",
    "crashes",
    "holding",
    "identities",
    "locks",
    "losing",
    "markers",
    "observing",
    "purging",
    "quarantining",
    "referring",
    "restoring",
    "sharing",
    "single_files",
    "space",
    "walking",
    "writing",
)

pytest.register_assert_rewrite(*(f"tests.contract.{name}" for name in SUITES))
