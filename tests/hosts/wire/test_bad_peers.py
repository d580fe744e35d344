"""Whatever a bad peer sends, no answer comes of it: an error does, soon and without much memory."""

import os
import sys
import time
import tracemalloc

import pytest

from artifactctl.domain.errors import HostUnreachable
from artifactctl.hosts.remote import RemoteHost
from tests.bench.sandbox import CHECKOUT
from tests.hosts.wire.bad_peer import WAYS
from tests.hosts.wire.links import pipe


@pytest.mark.parametrize("way", WAYS)
def test_a_bad_peer_gives_no_answer(way: str) -> None:
    peer = pipe(
        (sys.executable, "-m", "tests.hosts.wire.bad_peer", way), silence_seconds=5, PYTHONPATH=os.fspath(CHECKOUT)
    )
    with RemoteHost(peer, machine="gpu1") as host:
        begun = time.monotonic()
        tracemalloc.start()

        with pytest.raises(HostUnreachable) as failure:
            host.usage(b"/")

        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert time.monotonic() - begun < 20
        assert peak < 20 << 20
        assert "gpu1" in failure.value.message
