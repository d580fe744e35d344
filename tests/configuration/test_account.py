"""Which account acts: what the kernel says, not what the environment says."""

import os
import pwd

import pytest

from artifactctl.configuration.account import account_here, number_outside, person_behind

WHOLE = "         0          0 4294967295\n"
FORGED = {"USER": "mallory", "LOGNAME": "mallory", "USERNAME": "mallory", "HOME": "/home/mallory"}


def test_the_variables_that_anybody_can_set_name_nobody() -> None:
    account = account_here(FORGED, host="gpu1")

    assert account.login == pwd.getpwuid(os.getuid()).pw_name
    assert (account.user_id, account.host) == (os.getuid(), "gpu1")
    assert "mallory" not in account.actor


@pytest.mark.parametrize(
    ("number", "mapping", "outside"),
    [
        (0, WHOLE, 0),
        (1000, WHOLE, 1000),
        (0, "0 1000 1\n", 1000),
        (7, "0 1000 1\n1 100000 65536\n", 100006),
        (5, "0 1000 1\n", 5),
        (1000, "", 1000),
    ],
)
def test_a_number_in_a_user_namespace_is_the_one_it_stands_for_outside(number: int, mapping: str, outside: int) -> None:
    assert number_outside(number, mapping) == outside


def test_who_logged_in_goes_before_what_sudo_says_and_nobody_may_have() -> None:
    nobody, name = pwd.getpwnam("nobody").pw_uid, "nobody"

    assert person_behind(str(nobody), {"SUDO_USER": "mallory"}) == name
    assert person_behind("4294967295", {"SUDO_USER": "ada"}) == "ada"
    assert person_behind("", {}) == ""
    assert person_behind("0", {}) == ""


def test_the_person_behind_root_is_told_and_gives_nothing() -> None:
    if os.getuid() != 0:
        pytest.skip("only root has somebody behind it")

    account = account_here({"SUDO_USER": "ada"}, host="gpu1")

    assert (account.login, account.person, account.actor) == ("root", "ada", "ada as root@gpu1")
