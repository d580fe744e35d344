"""What stands in the record of our own acts beside what we wrote there."""

import os
import zlib

import pytest

from .act_ground import managed, plant


def with_checksum(body):
    return b"%08x %b\n" % (zlib.crc32(body), body)


@pytest.mark.parametrize(
    "line",
    [
        with_checksum(b"a b c d e f g h"),
        with_checksum(b"1 2 3 4 5 6 7 "),
        with_checksum(b"1 2 3"),
        b"\xff\0 \n",
        b"torn",
    ],
)
def test_a_line_that_is_no_record_proves_nothing_and_stops_nothing(tmp_path, line):
    ground = managed(tmp_path)
    for name in ("first", "second"):
        plant(ground.at(name))
    os.link(ground.at("first/rows_0-5000/data_1.ckpt"), ground.at("second/shared"))
    ground.set_aside("second", "op2")
    before = ground.host.observe_quarantined(ground.root, "op2").tree
    ground.condemn("first", "op1")
    assert ground.purge("op1").complete

    with open(ground.at(".artifactctl/own-changes"), "ab") as record:
        record.write(line)

    assert ground.host.observe_quarantined(ground.root, "op2").tree.fingerprint == before.fingerprint
