"""A spool whose disk is full before its limit is: the pass waits as for any room, refuses, and leaves nothing."""

import shutil
import time

import pytest

from extract.sglang.attempts import AttemptFailed
from extract.sglang.receiving import take
from extract.sglang.spool import Spool
from tests.bench.volumes import Volume, fill_with_bytes
from tests.extract.sglang.model_tree import prefill
from tests.extract.sglang.test_hook import hooked

pytestmark = pytest.mark.system

LIMIT = 2**30


def test_a_full_disk_delays_a_pass_and_refuses_its_records_with_the_reason(tmpfs_volume: Volume) -> None:
    folder = tmpfs_volume.mount / "spool"
    model = hooked(folder, limit_bytes=LIMIT, wait_seconds=0.3)
    filler = fill_with_bytes(tmpfs_volume)

    began = time.monotonic()
    model(prefill([("artifactctl-a", list(range(60)) * 40)]))

    assert 0.3 <= time.monotonic() - began < 5
    assert Spool(str(folder), LIMIT).used_bytes() == 0
    with pytest.raises(AttemptFailed, match=r"had no room|left nothing"):
        take(Spool(str(folder), LIMIT), "artifactctl-a")

    shutil.rmtree(filler)
    model(prefill([("artifactctl-a", [1, 2, 3])]))
    assert len(take(Spool(str(folder), LIMIT), "artifactctl-a")[0].layers[0]) == 3
