"""The Arrow dataset beside speculators' samples: ids and loss masks by row, as `datasets.load_from_disk` reads it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artifactctl.domain.errors import CheckFailed, Refused
from extract.requirements import need
from extract.shards.aside import AsideFile
from extract.shards.records import StateRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA_FILE = "data-00000-of-00001.arrow"
_ROWS_AT_ONCE = 256
_PURPOSE = "the dataset beside speculators' samples"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskRow:
    """One row: `token_ids` int64 [L], `loss_mask` uint8 [L], `index` its record's number in the corpus."""

    index: int
    token_ids: "NDArray[Any]"
    loss_mask: "NDArray[Any]"


class LossMasks:
    """The rows of a dataset, mapped from disk and not loaded."""

    def __init__(self, files: Sequence[Path]) -> None:
        arrow = need("pyarrow", purpose=_PURPOSE)
        ipc = need("pyarrow.ipc", purpose=_PURPOSE)
        try:
            tables = [ipc.open_stream(arrow.memory_map(str(file))).read_all() for file in files]
            self._table: Any = arrow.concat_tables(tables)
        except (arrow.ArrowInvalid, OSError) as error:
            raise CheckFailed(
                f"{files[0]} is no Arrow dataset: {error}", remedy="preprocess the corpus again"
            ) from error
        missing = {"input_ids", "loss_mask"} - set(self._table.column_names)
        if missing:
            raise CheckFailed(f"{files[0]} has no column {', '.join(sorted(missing))}", remedy="check the path")
        self._has_index = "index" in self._table.column_names

    def row(self, number: int) -> MaskRow | None:
        """Return a row; None where there is none."""
        if not 0 <= number < self._table.num_rows:
            return None
        ids, mask = (self._table[name][number].values for name in ("input_ids", "loss_mask"))
        return MaskRow(
            index=self._table["index"][number].as_py() if self._has_index else number,
            token_ids=ids.to_numpy(zero_copy_only=False).astype("<i8"),
            loss_mask=mask.to_numpy(zero_copy_only=False).astype("u1"),
        )


class LossMaskWriter:
    """Writes the dataset row by row into a file aside, and what describes it before it gets its name.

    Where an interrupted run had come to the end of it, the rows are only compared.
    """

    def __init__(self, folder: Path) -> None:
        self._arrow: Any = need("pyarrow", purpose=_PURPOSE)
        ipc = need("pyarrow.ipc", purpose=_PURPOSE)
        self._folder = folder
        self._rows: list[StateRecord] = []
        self._number = self._size_bytes = 0
        self._there = LossMasks([folder / DATA_FILE]) if (folder / DATA_FILE).exists() else None
        if self._there is not None:
            return
        self._file = AsideFile(folder / DATA_FILE, 1)
        numbers = self._arrow.list_(self._arrow.int64())
        names = (("input_ids", numbers), ("loss_mask", numbers), ("seq_len", self._arrow.int64()))
        self._schema: Any = self._arrow.schema([*names, ("index", self._arrow.int64())])
        self._stream: Any = ipc.new_stream(self._arrow.PythonFile(self, mode="w"), self._schema)

    closed = False

    def write(self, content: Any) -> int:
        """Take what pyarrow writes."""
        self._size_bytes = self._file.write(self._size_bytes, (content,))
        return len(content)

    def flush(self) -> None:
        """Nothing is kept back."""

    def append(self, record: StateRecord) -> None:
        """Add a row; Refused when another one is there."""
        if self._there is not None:
            if not _is_row_of(self._there.row(self._number), record):
                raise Refused(f"{self._folder / DATA_FILE} is there and holds other rows", remedy="give another --out")
            self._number += 1
            return
        self._rows.append(record)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._write_rows()

    def complete(self) -> None:
        """Write the files that make it a dataset, then what is left of the rows."""
        if self._there is not None:
            return
        for name, content in (("dataset_info.json", _INFORMATION), ("state.json", _STATE)):
            if not (self._folder / name).exists():
                text = json.dumps(content, indent=2).encode()
                file = AsideFile(self._folder / name, len(text))
                file.write(0, (text,))
                file.publish(len(text))
        self._write_rows()
        self._stream.close()
        self._file.publish(self._size_bytes)

    def abandon(self) -> None:
        """Give back what is written."""
        if self._there is None:
            self._file.abandon()

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        columns = (
            [row.token_ids for row in rows],
            [row.loss_mask.astype("<i8") for row in rows if row.loss_mask is not None],
            [row.tokens for row in rows],
            [row.index for row in rows],
        )
        arrays = [self._arrow.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._stream.write_batch(self._arrow.record_batch(arrays, schema=self._schema))


def _is_row_of(row: MaskRow | None, record: StateRecord) -> bool:
    if row is None or record.loss_mask is None or row.index != record.index:
        return False
    pairs = ((row.token_ids, record.token_ids), (row.loss_mask, record.loss_mask))
    return all(mine.shape == theirs.shape and bool((mine == theirs).all()) for mine, theirs in pairs)


_INT64 = {"dtype": "int64", "_type": "Value"}
_INFORMATION: dict[str, object] = {
    "features": {
        "input_ids": {"feature": _INT64, "_type": "Sequence"},
        "loss_mask": {"feature": _INT64, "_type": "Sequence"},
        "seq_len": _INT64,
        "index": _INT64,
    }
}
_STATE: dict[str, object] = {
    "_data_files": [{"filename": DATA_FILE}],
    "_fingerprint": "artifactctl",
    "_format_columns": None,
    "_format_kwargs": {},
    "_format_type": "torch",
    "_output_all_columns": False,
    "_split": None,
}
