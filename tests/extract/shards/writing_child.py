"""A run that packs records until it is killed: `python -m tests.extract.shards.writing_child FOLDER CODEC RECORDS`.

It goes on where a run before stopped, and prints a line before it begins to write.
"""

import sys
from pathlib import Path

from artifactctl.api.formats import Codec
from extract.shards.packing import PackedWriter
from extract.shards.records import token_hash
from tests.extract.shards import made

TOKENS = 900
SHARD_BYTES = 256 * 1024


def main() -> None:
    """Write the records that are missing, then the manifest."""
    folder, codec, count = Path(sys.argv[1]), Codec(sys.argv[2]), int(sys.argv[3])
    writer = PackedWriter(folder, made.plan(codec), shard_bytes=SHARD_BYTES)
    records = [made.record(index, TOKENS) for index in range(count)]
    print("ready", flush=True)
    for each in records:
        if not writer.written[token_hash(each.token_ids)]:
            writer.append(each)
    writer.finish()


if __name__ == "__main__":
    main()
