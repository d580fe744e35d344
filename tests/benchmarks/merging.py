"""Merging very many short records: seconds a record, and how much memory the whole run ever had.

    python -m tests.benchmarks.merging FOLDER TOKENIZER [RECORDS] [--tokenised]

FOLDER gets the sources and the corpus, and keeps the sources for the next run. TOKENIZER is a model's folder or GGUF
file. The yardstick is reading the same sources as JSON, which nothing that merges can do without.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.extract.texts import openai, sentences

SOURCES = 4
MIB = 2**20


def records(count: int, *, tokenised: bool) -> Iterator[dict[str, Any]]:
    """Yield so many records of about 60 tokens, one in a hundred there twice."""
    rng = random.Random(count)
    before: dict[str, Any] = {}
    for number in range(count):
        if before and number % 100 == 0:
            yield before
            continue
        if tokenised:
            before = {"input_ids": [rng.randrange(40_000) for _ in range(60)], "loss_mask": [0] * 20 + [1] * 40}
        else:
            question, answer = f"{number}: {sentences(rng, 1)}", sentences(rng, 2)
            before = openai([{"role": "user", "content": question}, {"role": "assistant", "content": answer}])
        yield before


def sources(folder: Path, count: int, *, tokenised: bool) -> list[Path]:
    """Return the source files, made when they are not there yet."""
    form = "ids" if tokenised else "talks"
    paths = [folder / f"{form}-{count}-{number}.jsonl" for number in range(SOURCES)]
    if not all(path.exists() for path in paths):
        with ExitStack() as stack:
            files = [stack.enter_context(open(path, "w", encoding="utf-8")) for path in paths]
            for number, record in enumerate(records(count, tokenised=tokenised)):
                files[number * SOURCES // count].write(f"{json.dumps(record)}\n")
    return paths


def merge_alone(place: Path, paths: list[Path], tokenizer: Path) -> None:
    """Merge in this process and say what it took; the process is to be a fresh one."""
    from extract.merging.tokenization import read_tokenizer
    from tests.extract.merging.merged import merged

    begun, cpu = time.monotonic(), time.process_time()
    done = merged(place, paths, read_tokenizer(tokenizer))
    print(
        json.dumps(
            {
                "records": done.manifest["records"],
                "tokens": done.manifest["tokens"],
                "read": sum(source["read"] for source in done.manifest["merge"]["sources"]),
                "seconds": round(time.monotonic() - begun, 1),
                "cpu_seconds": round(time.process_time() - cpu, 1),
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // MIB,
            }
        )
    )


def parse_alone(paths: list[Path]) -> float:
    """Return the CPU seconds of only parsing the sources."""
    begun = time.process_time()
    for path in paths:
        with open(path, "rb") as lines:
            for line in lines:
                json.loads(line)
    return time.process_time() - begun


def main() -> None:
    """Merge once in a process of its own, beside the yardstick."""
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path)
    words.add_argument("tokenizer", type=Path)
    words.add_argument("records", type=int, nargs="?", default=1_000_000)
    words.add_argument("--tokenised", action="store_true")
    words.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    said = words.parse_args()
    said.folder.mkdir(parents=True, exist_ok=True)
    paths = sources(said.folder, said.records, tokenised=said.tokenised)
    place = said.folder / "corpus"
    if said.inner:
        merge_alone(place, paths, said.tokenizer)
        return
    if place.exists():
        shutil.rmtree(place)
    command = [sys.executable, "-m", "tests.benchmarks.merging", *sys.argv[1:], "--inner"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yardstick = parse_alone(paths)
    print(f"{found['read']:,} records read, {found['records']:,} kept, {found['tokens']:,} tokens")
    print(
        f"{found['cpu_seconds']} CPU s, {found['seconds']} s, {found['cpu_seconds'] / yardstick:.1f} times JSON alone"
    )
    print(f"peak memory {found['peak_mib']:,} MiB, sources {sum(path.stat().st_size for path in paths) // MIB:,} MiB")


if __name__ == "__main__":
    main()
