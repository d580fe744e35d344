"""The footer of a Parquet file: number of rows and top-level column names, without a Parquet library.

A Parquet file ends with its FileMetaData (Thrift, compact protocol), 4 bytes of length and `PAR1`. Only two of its
fields are wanted: 2, the schema as a depth-first list of elements, and 3, the number of rows (parquet.thrift).
"""

from dataclasses import dataclass

from artifactctl.recognition.seen import Read

MAGIC = b"PAR1"
LARGEST_FOOTER_BYTES = 64 * 1024 * 1024
_DEEPEST_NESTING = 32

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class TornFooter(ValueError):
    """The file is no complete Parquet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFooter:
    """What the footer says."""

    rows: int
    columns: tuple[str, ...]


def read_footer(read: Read, relative: bytes, size_bytes: int) -> ParquetFooter:
    """Return rows and columns; TornFooter when the end of the file is missing or damaged."""
    if size_bytes < 12 or read(relative, size_bytes - 4, 4) != MAGIC:
        raise TornFooter("its footer is missing")
    length = int.from_bytes(read(relative, size_bytes - 8, 4), "little")
    if length > min(LARGEST_FOOTER_BYTES, size_bytes - 12):
        raise TornFooter("its footer is damaged")
    try:
        return _parse(read(relative, size_bytes - 8 - length, length))
    except (IndexError, ValueError, RecursionError) as error:
        raise TornFooter("its footer is damaged") from error


def _parse(raw: bytes) -> ParquetFooter:
    reader = _CompactReader(raw)
    rows: int | None = None
    columns: tuple[str, ...] = ()
    for field, kind in reader.fields():
        if field == 2 and kind == _LIST:
            columns = _columns(reader)
        elif field == 3 and kind == _I64:
            rows = reader.number()
        else:
            reader.skip(kind)
    if rows is None or rows < 0:
        raise ValueError("no number of rows")
    return ParquetFooter(rows=rows, columns=columns)


def _columns(reader: "_CompactReader") -> tuple[str, ...]:
    """Return the names of the root's direct children from the depth-first list of schema elements."""
    count, _kind = reader.list_header()
    elements = [_schema_element(reader) for _ in range(count)]
    names: list[str] = []
    position = 1
    while position < len(elements):
        names.append(elements[position][0])
        position = _after(elements, position)
    return tuple(names)


def _after(elements: list[tuple[str, int]], position: int) -> int:
    pending = 1
    while pending and position < len(elements):
        pending += elements[position][1] - 1
        position += 1
    return position


def _schema_element(reader: "_CompactReader") -> tuple[str, int]:
    """Return (name, number of children): fields 4 and 5 of a SchemaElement."""
    name, children = "", 0
    for field, kind in reader.fields():
        if field == 4 and kind == _BINARY:
            name = reader.binary().decode("utf-8", "backslashreplace")
        elif field == 5 and kind == _I32:
            children = reader.number()
        else:
            reader.skip(kind)
    return name, children


class _CompactReader:
    """A cursor over Thrift's compact protocol; IndexError where the bytes end too early."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._position = 0
        self._depth = 0

    def fields(self) -> "_Fields":
        return _Fields(self)

    def byte(self) -> int:
        value = self._raw[self._position]
        self._position += 1
        return value

    def variable(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("a number without end")

    def number(self) -> int:
        value = self.variable()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        length = self.variable()
        content = self._raw[self._position : self._position + length]
        if len(content) < length:
            raise IndexError("a text beyond the end")
        self._position += length
        return content

    def list_header(self) -> tuple[int, int]:
        head = self.byte()
        count = head >> 4
        return (self.variable() if count == 15 else count), head & 0x0F

    def skip(self, kind: int) -> None:
        """Pass over a value of the given compact type."""
        if kind in (_TRUE, _FALSE):
            return
        if kind == _BYTE:
            self.byte()
        elif kind in (_I16, _I32, _I64):
            self.variable()
        elif kind == _DOUBLE:
            self._position += 8
        elif kind == _BINARY:
            self.binary()
        else:
            self._skip_nested(kind)

    def _skip_nested(self, kind: int) -> None:
        self._depth += 1
        if self._depth > _DEEPEST_NESTING:
            raise ValueError("nested too deeply")
        if kind in (_LIST, _SET):
            count, element = self.list_header()
            for _ in range(count):
                self._skip_element(element)
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _field, inner in self.fields():
                self.skip(inner)
        else:
            raise ValueError(f"unknown type {kind}")
        self._depth -= 1

    def _skip_map(self) -> None:
        count = self.variable()
        kinds = self.byte() if count else 0
        for _ in range(count):
            self._skip_element(kinds >> 4)
            self._skip_element(kinds & 0x0F)

    def _skip_element(self, kind: int) -> None:
        if kind in (_TRUE, _FALSE):
            self.byte()  # inside a container a truth value has a byte of its own
        else:
            self.skip(kind)


class _Fields:
    """The fields of one struct as (field id, type); each value must be read or skipped before the next."""

    def __init__(self, reader: _CompactReader) -> None:
        self._reader = reader
        self._last = 0

    def __iter__(self) -> "_Fields":
        return self

    def __next__(self) -> tuple[int, int]:
        head = self._reader.byte()
        if head == 0:
            raise StopIteration
        delta = head >> 4
        self._last = self._last + delta if delta else self._reader.number()
        return self._last, head & 0x0F
