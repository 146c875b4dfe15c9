"""Files of torch.save and pickle as trees of plain values and digests: nothing that a file names is run.

A pickle is a program for a small machine that may call anything. Here every name in it stands for an inert
record, so that loading builds a description of the objects and never an object.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import xxhash

if TYPE_CHECKING:
    import torch

_TENSOR_MAKERS = {
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_tensor",
}
_PARAMETER_MAKERS = {"torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"}
_MAPPINGS = {"collections.OrderedDict", "builtins.dict", "collections.defaultdict"}
_DEEPEST = 60


class Unreadable(Exception):
    """A file that is not what its name says, or holds what can't be read without running it."""


class _Record:
    """A stand-in for an object: its maker's name, and everything that the file gives it."""

    name = ""
    is_circular = False

    args: list[Any]
    items: list[tuple[Any, Any]]
    states: list[Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.args, self.items, self.states = [*args, *([kwargs] if kwargs else [])], [], []
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """A maker may be given anything."""

    def __setstate__(self, state: Any) -> None:
        self.states.append(state)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items.append((key, value))

    def append(self, value: Any) -> None:
        self.items.append((len(self.items), value))

    def extend(self, values: Any) -> None:
        for value in values:
            self.append(value)

    def __call__(self, *args: Any) -> _Record:
        return self

    def __hash__(self) -> int:
        return id(self)


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, storage: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        return type("_Record", (_Record,), {"name": f"{module}.{name}"})

    def persistent_load(self, pid: Any) -> Any:
        return self._storage(pid)


class _Storage:
    def __init__(self, dtype: str, raw: Callable[[], bytes]) -> None:
        self.dtype, self.raw = dtype, raw


def is_checkpoint(path: Any) -> bool:
    """Return whether a file, whatever its name, is one of torch.save in the zip format."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.rpartition("/")[2] == "data.pkl" for name in archive.namelist())


def is_pickle(raw: bytes) -> bool:
    """Return whether bytes begin and end as a pickle of protocol 2 or later does."""
    return raw[:1] == b"\x80" and raw[1:2] <= b"\x05" and raw.endswith(b".")


def read_checkpoint(path: Any) -> Any:
    """Return the tree of a file of torch.save in the zip format. Raises `Unreadable`."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            inside = next((n for n in names if n.endswith("/data.pkl") or n == "data.pkl"), None)
            if inside is None:
                raise Unreadable("a zip file without the data of torch.save")
            stem = inside.removesuffix("data.pkl")

            def storage(pid: Any) -> Any:
                _, kind, key, *_ = pid
                dtype = getattr(kind, "name", "") or str(kind)
                return _Storage(dtype, lambda: archive.read(f"{stem}data/{key}"))

            return plain(_load(io.BytesIO(archive.read(inside)), storage))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise Unreadable(str(error).splitlines()[0] if str(error) else type(error).__name__) from None


def read_pickle(raw: bytes) -> Any:
    """Return the tree of a pickle, or the list of the trees of several in a row. Raises `Unreadable`."""

    def refuse(pid: Any) -> Any:
        raise Unreadable("a pickle with objects outside itself")

    file = io.BytesIO(raw)
    found = [plain(_load(file, refuse))]
    while file.tell() < len(raw):
        found.append(plain(_load(file, refuse)))
    return found if len(found) > 1 else found[0]


def _load(file: io.BytesIO, storage: Callable[[Any], Any]) -> Any:
    try:
        return _Reader(file, storage).load()
    except Unreadable:
        raise
    except Exception as error:
        # Whatever a damaged or hostile pickle makes of the reader, it is a file that can't be read.
        raise Unreadable(f"not read as a pickle: {type(error).__name__}: {error}") from None


def plain(value: Any, above: tuple[Any, ...] = ()) -> Any:
    """Return a tree of dictionaries, lists, numbers and text; tensors and bytes as digests.

    Of an object that holds itself it says inside how many levels further up it stands. Objects that hold each
    other are described once.
    """
    for level, holder in enumerate(above):
        if holder is value:
            for other in above[level:]:
                if isinstance(other, _Record):
                    other.is_circular = True
            return f"<{len(above) - level} levels up>"
    if len(above) > _DEEPEST:
        raise Unreadable("nested too deeply")
    above = (*above, value)
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray():
            return f"bytes[{len(value)}] {xxhash.xxh3_128_hexdigest(bytes(value))}"
        case dict():
            return {_key(key): plain(item, above) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, above) for item in value]
        case set() | frozenset():
            return sorted((plain(item, above) for item in value), key=repr)
        case type():
            return f"<{getattr(value, 'name', '') or value.__name__}>"
        case _Record(is_circular=True):
            return f"<{value.name}, as before>"
        case _Record():
            return _plain_record(value, above)
        case complex():
            return repr(value)
    return f"<{type(value).__name__}>"


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(plain(key))


def _plain_record(found: _Record, above: tuple[Any, ...]) -> Any:
    if found.name in _TENSOR_MAKERS:
        return _tensor(found.args)
    if found.name == "_codecs.encode" and found.args[1:] == ["latin1"]:
        # How protocol 2, which torch.save writes, keeps bytes.
        return plain(found.args[0].encode("latin1"), above)
    if found.name in _PARAMETER_MAKERS and found.args:
        return plain(found.args[0], above)
    if found.name in _MAPPINGS and not found.states:
        return {_key(key): plain(item, above) for key, item in found.items}
    tree: dict[str, Any] = {"type": found.name}
    # The order of what an object holds says nothing, that of what it was made from does.
    if found.args:
        tree["made from"] = [plain(item, above) for item in found.args]
    for key, item in found.items:
        tree[_key(key)] = plain(item, above)
    for state in found.states:
        held = plain(state, above)
        tree |= held if isinstance(held, dict) else {"state": held}
    return tree


def _tensor(args: list[Any]) -> str:
    storage, offset, size, stride = args[:4]
    if not isinstance(storage, _Storage):
        return "<tensor without its storage>"
    import torch  # takes seconds to load, and only checkpoints need it

    dtype = _dtype(storage.dtype, args)
    raw = bytearray(storage.raw())
    if not raw:
        return f"{str(dtype)[6:]}{list(size)} empty"
    flat = torch.frombuffer(raw, dtype=torch.uint8)
    try:
        usable = flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        # Not resolved of anything lazy, and of the bytes in logical order: equal to another layout of them.
        values = torch.as_strided(usable, tuple(size), tuple(stride), offset).contiguous()
    except RuntimeError as error:
        raise Unreadable(str(error).splitlines()[0]) from None
    digest = xxhash.xxh3_128_hexdigest(values.reshape(-1).view(torch.uint8).numpy().data)
    return f"{str(values.dtype)[6:]}{list(values.shape)} {digest}"


def _dtype(name: str, args: list[Any]) -> torch.dtype:
    import torch

    for argument in args:
        known = getattr(argument, "name", "") if isinstance(argument, type) else ""
        if known.startswith("torch.") and isinstance(getattr(torch, known[6:], None), torch.dtype):
            return getattr(torch, known[6:])  # type: ignore[no-any-return]
    kind = name.rpartition(".")[2]
    storage = getattr(torch, kind, None) if kind.endswith("Storage") else None
    found: torch.dtype = getattr(storage, "_dtype", torch.uint8)
    return found
