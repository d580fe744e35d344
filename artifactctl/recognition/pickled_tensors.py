"""Reads the pickle of a torch file without unpickling it.

The opcodes are walked with `pickletools.genops`, which executes nothing. A small stack machine understands exactly what
`torch.save` writes for dicts, lists and plain tensors; anything else raises `NotPlainTensors` and stays unread.
"""

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MOST_OPCODES = 2_000_000
"""A state dict of a large model has some ten thousand; a hostile file is cut off here."""

STORAGE_BYTES = {
    "DoubleStorage": 8, "LongStorage": 8, "FloatStorage": 4, "IntStorage": 4, "HalfStorage": 2, "BFloat16Storage": 2,
    "ShortStorage": 2, "ByteStorage": 1, "CharStorage": 1, "BoolStorage": 1,
}  # fmt: skip
"""Bytes of one element by storage class."""

_ORDERED = "collections OrderedDict"
_REBUILD = "torch._utils _rebuild_tensor_v2"


class NotPlainTensors(ValueError):
    """The pickle holds something other than plain tensors in plain containers, or ends early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PickledTensor:
    """One tensor as the pickle describes it. `storage` is its member `data/<storage>` in the archive.

    `storage_class` is torch's (`BFloat16Storage`); `offset` and `shape` are in elements.
    """

    storage: str
    storage_class: str
    storage_elements: int
    offset: int
    shape: tuple[int, ...]

    @property
    def storage_bytes(self) -> int:
        """The size of the archive member that holds the data."""
        return self.storage_elements * STORAGE_BYTES[self.storage_class]


@dataclass(frozen=True, slots=True)
class _Global:
    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    storage_class: str
    elements: int


_MARK = object()


@dataclass(slots=True)
class _Machine:
    """The stack and memo of a pickle, holding descriptions instead of objects."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def pop_to_mark(self) -> list[Any]:
        items: list[Any] = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        items.reverse()
        return items


def describe(pickle: bytes) -> Any:
    """Return the pickled value with every tensor as a PickledTensor; NotPlainTensors for anything else.

    `pickle` may have bytes after its end. Containers come as dict, list and tuple.
    """
    machine = _Machine()
    try:
        for count, (opcode, argument, _position) in enumerate(pickletools.genops(pickle)):
            if opcode.name == "STOP":
                return machine.stack.pop()
            if count > MOST_OPCODES:
                raise NotPlainTensors("the pickle is too long")
            _step(machine, opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise NotPlainTensors(f"not plain tensors: {error}") from error
    raise NotPlainTensors("the pickle has no end")


def strings(pickle: bytes, *, most: int) -> tuple[str, ...]:
    """Return up to `most` text constants from the head of a pickle of any content; a cut-off pickle is read as far."""
    found: list[str] = []
    try:
        for opcode, argument, _position in pickletools.genops(pickle):
            if opcode.name in ("BINUNICODE", "SHORT_BINUNICODE") and isinstance(argument, str):
                found.append(argument)
                if len(found) >= most:
                    break
    except ValueError:
        return tuple(found)
    return tuple(found)


def _step(machine: _Machine, name: str, argument: Any) -> None:
    if name in _CONSTANTS:
        machine.stack.append(_CONSTANTS[name]())
    elif name in _ARGUMENTS:
        machine.stack.append(argument)
    elif name in _MEMO_WRITES:
        machine.memo[len(machine.memo) if argument is None else argument] = machine.stack[-1]
    elif name in _MEMO_READS:
        machine.stack.append(machine.memo[argument])
    elif name in _ACTIONS:
        _ACTIONS[name](machine, argument)
    elif name not in _NOTHING:
        raise NotPlainTensors(f"opcode {name}")


def _global(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    if argument not in (_ORDERED, _REBUILD) and not (module == "torch" and name in STORAGE_BYTES):
        raise NotPlainTensors(f"global {argument!r}")
    machine.stack.append(_Global(argument))


def _stack_global(machine: _Machine, _argument: Any) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    _global(machine, f"{module} {name}")


def _persistent(machine: _Machine, _argument: Any) -> None:
    tag, storage_type, key, _device, elements = machine.stack.pop()
    if tag != "storage" or not isinstance(key, str) or not isinstance(elements, int):
        raise NotPlainTensors("a persistent id that is no storage")
    module, _, storage_class = storage_type.name.partition(" ")
    if module != "torch":
        raise NotPlainTensors("a storage of a foreign class")
    machine.stack.append(_Storage(key, storage_class, elements))


def _reduce(machine: _Machine, _argument: Any) -> None:
    arguments, callee = machine.stack.pop(), machine.stack.pop()
    if callee == _Global(_ORDERED) and arguments == ():
        machine.stack.append({})
        return
    if callee != _Global(_REBUILD):
        raise NotPlainTensors("a call of something that is no tensor")
    storage, offset, shape = arguments[:3]
    if not isinstance(storage, _Storage) or not all(isinstance(n, int) and n >= 0 for n in (offset, *shape)):
        raise NotPlainTensors("a tensor without storage or shape")
    machine.stack.append(
        PickledTensor(
            storage=storage.key,
            storage_class=storage.storage_class,
            storage_elements=storage.elements,
            offset=offset,
            shape=tuple(shape),
        )
    )


def _set_items(machine: _Machine, _argument: Any) -> None:
    items = machine.pop_to_mark()
    machine.stack[-1].update(zip(items[::2], items[1::2], strict=True))


def _set_item(machine: _Machine, _argument: Any) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.stack[-1][key] = value


def _append(machine: _Machine, _argument: Any) -> None:
    value = machine.stack.pop()
    machine.stack[-1].append(value)


def _appends(machine: _Machine, _argument: Any) -> None:
    items = machine.pop_to_mark()
    machine.stack[-1].extend(items)


def _build(machine: _Machine, _argument: Any) -> None:
    if not isinstance(machine.stack.pop(), dict) or not isinstance(machine.stack[-1], dict):
        raise NotPlainTensors("state set on something that is no dict")


def _tuple_of(length: int) -> Callable[[_Machine, Any], None]:
    def make(machine: _Machine, _argument: Any) -> None:
        items = tuple(machine.stack.pop() for _ in range(length))
        machine.stack.append(items[::-1])

    return make


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "MARK": lambda: _MARK,
}
_ARGUMENTS = {"BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
_MEMO_WRITES = {"BINPUT", "LONG_BINPUT", "MEMOIZE"}
_MEMO_READS = {"BINGET", "LONG_BINGET"}
_NOTHING = {"PROTO", "FRAME"}
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "BINPERSID": _persistent,
    "REDUCE": _reduce,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "APPEND": _append,
    "APPENDS": _appends,
    "BUILD": _build,
    "TUPLE": lambda machine, _argument: machine.stack.append(tuple(machine.pop_to_mark())),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
}
