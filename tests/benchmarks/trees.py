"""A large tree of small files, made once and used again."""

from pathlib import Path

PER_FOLDER = 2000
FILES = 200_000


def tree_in(folder: Path, files: int = FILES) -> Path:
    """Return `folder/tree`, made if need be: SpecForge dumps of one sample a file, four generations side by side."""
    top = folder / "tree"
    if top.exists():
        return top
    for number in range(files):
        generation, row = divmod(number, max(1, files // 4))
        begin = row // PER_FOLDER * PER_FOLDER
        inside = top / f"hidden-v{generation}" / f"rows_{begin}-{begin + PER_FOLDER}"
        if row % PER_FOLDER == 0:
            inside.mkdir(parents=True)
        (inside / f"data_{row}.ckpt").write_bytes(b"x" * 10)
    return top
