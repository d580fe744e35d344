"""What is stated about the machines that mount a volume: the words for it, and what they mean on one of them."""

import pytest

from artifactctl.domain.attestation import (
    NOTHING_STATED,
    READ_ONLY,
    Attestation,
    Client,
    Regime,
    applied_here,
    clients_from,
    in_words,
)
from artifactctl.domain.errors import UsageError
from tests.builders import NOON


def sole(words: str) -> Attestation:
    return Attestation(regime=Regime.SOLE_CLIENTS, clients=clients_from(words))


@pytest.mark.parametrize(
    "attestation",
    [
        NOTHING_STATED,
        READ_ONLY,
        Attestation(regime=Regime.LEASE),
        sole("gpu1,gpu2:/mnt/x"),
        Attestation(
            regime=Regime.SOLE_CLIENTS,
            clients=(Client(machine="gpu1", path=b"/a,b:c/\xff%2C"), Client(machine="gpu2.lab", path=b"/with blank")),
        ),
    ],
)
def test_what_is_stored_is_read_back_as_it_was(attestation: Attestation) -> None:
    assert Attestation.from_text(attestation.text) == attestation


def test_a_machine_may_see_the_root_at_another_path() -> None:
    assert clients_from("gpu1, gpu2:/mnt//x/") == (Client(machine="gpu1"), Client(machine="gpu2", path=b"/mnt/x"))


@pytest.mark.parametrize(
    "words", ["", "gpu1,", "gpu1,gpu1", "gpu1,gpu1:/x", "gpu1:mnt/x", "gpu1:", ":/x", "gpu 1", "a\nb"]
)
def test_words_that_name_no_machine_or_one_twice_are_refused(words: str) -> None:
    with pytest.raises(UsageError):
        clients_from(words)


@pytest.mark.parametrize("text", ["sole-clients", "sole-clients:", "lease:a", "nonsense", "read-only:x"])
def test_text_that_states_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Attestation.from_text(text)


def test_every_machine_but_this_one_is_to_be_asked() -> None:
    found = applied_here(sole("gpu1,gpu2:/x"), {"gpu1", "node-1"}, stated_at=NOON)

    assert found is not None
    assert found.covers_this_machine
    assert [client.machine for client in found.elsewhere] == ["gpu2"]
    assert found.stated_at == NOON


def test_a_list_without_this_machine_does_not_cover_it() -> None:
    found = applied_here(sole("gpu2"), {"gpu1"}, stated_at=None)

    assert found is not None
    assert not found.covers_this_machine


@pytest.mark.parametrize("attestation", [NOTHING_STATED, READ_ONLY])
def test_nothing_stated_is_no_statement(attestation: Attestation) -> None:
    assert applied_here(attestation, {"gpu1"}, stated_at=None) is None


def test_people_read_who_uses_the_volume() -> None:
    assert in_words(sole("gpu1,gpu2:/x")) == "gpu1, gpu2 (/x)"
    assert in_words(NOTHING_STATED) == "nobody"
    assert in_words(READ_ONLY) == "not known: read-only until attested"
    assert in_words(Attestation(regime=Regime.LEASE)) == "whoever takes a lease"
