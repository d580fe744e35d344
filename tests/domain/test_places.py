"""How `HOST:PATH` is told from a path of this machine."""

import pytest

from artifactctl.domain.places import split_host


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("node-2:/data/x", ("node-2", "/data/x")),
        ("/data/a:b", ("", "/data/a:b")),
        ("./a:b", ("", "./a:b")),
        ("[::1]:/data/x", ("[::1]", "/data/x")),
        ("[fe80::1%eth0]:/data/a:b", ("[fe80::1%eth0]", "/data/a:b")),
        ("[a]/b", ("", "[a]/b")),
        (":/x", ("", ":/x")),
    ],
)
def test_what_stands_before_the_colon_names_a_machine(word: str, parts: tuple[str, str]) -> None:
    assert split_host(word) == parts
