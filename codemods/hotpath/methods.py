"""Methods of tensors, of containers, and of values that nothing is known about."""

from __future__ import annotations

import ast

from codemods.analysis.waits import ANSWERS, CHECKED_METHODS, READS, SHAPES, TRACKERS, is_fence
from codemods.hotpath.arguments import Arguments, says
from codemods.hotpath.frame import Frame
from codemods.hotpath.kinds import (
    CPU,
    HOST,
    MASK,
    TENSOR,
    UNKNOWN,
    Kind,
    element,
    holds_tensor,
    is_tensor,
    join,
    mapping,
    seq,
    tup,
)
from codemods.hotpath.statements import keep, put
from codemods.hotpath.vocabulary import LOGGING, MASKS, METADATA, SPLITS, TENSOR_ONLY, VIEWS, WORKING

READ_CODES = {"item": "HP001", "cpu": "HP002", "tolist": "HP003", "numpy": "HP004"}
assert READ_CODES.keys() == READS.keys()

_DEVICE_NAMES = ("device", "dev")


def tensor_method(frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments) -> Kind:
    """Call a method of a tensor."""
    if owner.tag == "cpu":
        return _on_host(frame, node, name, arguments)
    if name in READS:
        return _read(frame, node, name)
    if name in ("to", "type", "copy_", "cuda"):
        return _moved(frame, node, owner, name, arguments)
    if name in ("items", "keys") and not arguments.all():
        # Annotated as a tensor or a dict of them: here it is the dict.
        return seq(tup((HOST, owner))) if name == "items" else seq(HOST)
    if name in SHAPES or (name == "repeat_interleave" and _repeats(arguments)):
        frame.report("HP006", node)
        frame.fenced = False
        return TENSOR
    if name == "tensor_split" and is_tensor(arguments.first() or HOST):
        frame.report("HP006", node)
        return seq(TENSOR)
    if name in ANSWERS:
        frame.report("HP014", node)
        return HOST
    if name in CHECKED_METHODS:
        frame.report("HP014", node)
        frame.fenced = False
        return TENSOR
    if name in ("__float__", "__int__", "__bool__", "__index__"):
        frame.report("HP007", node)
        return HOST
    if name in ("__repr__", "__str__", "__format__"):
        frame.report("HP009", node)
        return HOST
    if name in METADATA:
        if name == "backward":
            frame.fenced = False
        return HOST
    if name in VIEWS:
        return owner
    if name in SPLITS:
        return seq(owner)
    frame.fenced = False
    if name == "apply_" or name == "map_":
        frame.report("HP007", node)
    if name in MASKS:
        return MASK
    if name in ("max", "min", "sort", "topk", "mode", "median", "kthvalue", "aminmax") and arguments.all():
        return TENSOR
    return TENSOR


def _read(frame: Frame, node: ast.Call, name: str) -> Kind:
    frame.report(READ_CODES[name], node)
    if name != "item" and not frame.in_loop:
        # One transfer for all, before the loop: what was queued is done.
        frame.fenced = True
    return CPU if name == "cpu" else HOST


def _repeats(arguments: Arguments) -> bool:
    first = arguments.first("repeats")
    return first is not None and is_tensor(first) and "output_size" not in arguments.keywords


def place_of(node: ast.Call, arguments: Arguments, position: int | None = 0) -> str | None:
    """Where a call puts its result: ``cpu``, ``device``; None if it does not say."""
    kind = arguments.keywords.get("device")
    shown = next((item.value for item in node.keywords if item.arg == "device"), None)
    if kind is None and position is not None and position < len(arguments.positional):
        kind = arguments.positional[position]
        shown = node.args[position] if position < len(node.args) else None
    if kind is None:
        return None
    if kind.tag in ("text", "device"):
        return "cpu" if kind.of == "cpu" else "device"
    if kind.tag == "cpu":
        return "cpu"
    if kind.tag in ("tensor", "mask"):
        return "device"
    if kind.tag == "ext":
        return None
    name = getattr(shown, "attr", None) or getattr(shown, "id", "") or ""
    keyword = "device" in arguments.keywords
    if isinstance(shown, ast.Constant):
        return "device" if shown.value is not None else None
    return "device" if keyword or name.endswith(_DEVICE_NAMES) or name.startswith("device") else None


def _moved(frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments) -> Kind:
    """``to``, ``type``, ``cuda`` and ``copy_`` of a tensor that may be on the device."""
    if name in ("cuda", "copy_"):
        source = arguments.first()
        if (
            name == "copy_"
            and source is not None
            and source.tag == "cpu"
            and not says(node, "non_blocking", True)
        ):
            frame.report("HP015", node)
        frame.fenced = False
        return owner
    if name == "type":
        first = arguments.first()
        if first is None:
            return HOST
        if (
            first.tag == "text"
            and isinstance(first.of, str)
            and first.of.startswith("torch.")
            and "cuda" not in first.of
        ):
            frame.report("HP005", node)
            return CPU
        return TENSOR
    if place_of(node, arguments) == "cpu":
        if not says(node, "non_blocking", True):
            frame.report("HP005", node)
            if not frame.in_loop:
                frame.fenced = True
        return CPU
    frame.fenced = False
    return TENSOR if owner.tag == "mask" else owner


def _on_host(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Kind:
    """A method of a tensor in host memory."""
    if name in ("item", "tolist", "numpy") or name in METADATA or name in ANSWERS:
        return HOST
    blocking = not says(node, "non_blocking", True)
    if name == "cuda" or (name == "to" and place_of(node, arguments) == "device"):
        if blocking:
            frame.report("HP015", node)
        return TENSOR
    if name == "copy_":
        source = arguments.first()
        if source is not None and is_tensor(source) and blocking:
            frame.report("HP005", node)
        return CPU
    return seq(CPU) if name in SPLITS else CPU


def unknown_method(frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments) -> Kind | None:
    """Call a method of something unknown, where its name tells; None where it does not."""
    if name in READS:
        # `.item(3)` is an array's or a mapping's; only `.numpy` takes options of its own.
        if arguments.positional:
            return UNKNOWN
        return _read(frame, node, name)
    if is_fence(name):
        frame.report("HP012" if "event" in _receiver(node) else "HP011", node)
        frame.fenced = True
        return HOST
    if name == "to" and place_of(node, arguments) == "cpu":
        return _moved(frame, node, owner, name, arguments)
    if name == "nonzero" and not arguments.all():
        frame.report("HP006", node)
        return TENSOR
    if name in ("argwhere", "masked_select", "unique_consecutive", "is_nonzero", "coalesce"):
        return tensor_method(frame, node, TENSOR, name, arguments)
    if name in LOGGING and ("log" in _receiver(node)):
        if any(map(holds_tensor, arguments.all())):
            frame.report("HP009", node)
        return HOST
    if name in TRACKERS or (name == "log" and any(map(holds_tensor, arguments.all()))):
        if any(map(holds_tensor, arguments.all())):
            frame.report("HP019", node)
        return HOST
    if "scaler" in _receiver(node) and name in ("step", "get_scale"):
        frame.report("HP014", node)
        frame.fenced = False
        return UNKNOWN if name == "step" else HOST
    if name in WORKING:
        frame.fenced = False
        return UNKNOWN if name in ("step", "forward") else HOST if name == "backward" else TENSOR
    if name in TENSOR_ONLY:
        return tensor_method(frame, node, TENSOR, name, arguments)
    if name in ("size", "dim", "numel", "nelement", "data_ptr", "element_size"):
        return HOST
    if name in ("sample", "rsample", "log_prob", "entropy") and "dist" in _receiver(node):
        frame.fenced = False
        return TENSOR
    if name == "state_dict":
        return mapping(UNKNOWN)
    return None


def _receiver(node: ast.Call) -> str:
    """The last name of what a method is called on, in lower case."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    while isinstance(owner, (ast.Subscript, ast.Call)):
        owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
    return str(getattr(owner, "attr", None) or getattr(owner, "id", "")).lower()


def container_method(frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments) -> Kind:
    """Call a method of a list, a dict, a tuple, or of something on the host."""
    first = arguments.first()
    if name in ("append", "add", "appendleft", "insert", "extend", "update", "setdefault"):
        return _grow(frame, node, owner, name, arguments)
    if name == "format" and owner.tag == "text" and any(map(holds_tensor, arguments.all())):
        frame.report("HP009", node)
        return HOST
    if name in TRACKERS and any(map(holds_tensor, arguments.all())):
        frame.report("HP019", node)
        return HOST
    if owner.tag == "map":
        value = UNKNOWN if owner.of.tag == "bottom" else owner.of
        if name in ("get", "pop"):
            default = arguments.positional[1] if len(arguments.positional) > 1 else HOST
            return value if value.tag == "unknown" else join(value, default)
        views = {"values": seq(value), "items": seq(tup((HOST, value))), "keys": seq(HOST), "copy": owner}
        return views.get(name, HOST if name == "clear" else UNKNOWN)
    if owner.tag in ("seq", "tup"):
        if name in ("index", "remove", "count") and first is not None and is_tensor(first):
            frame.report("HP008", node)
        if name in ("index", "remove", "count", "sort", "reverse", "clear"):
            if name == "sort" and is_tensor(element(owner)) and "key" not in arguments.keywords:
                frame.report("HP008", node)
            return HOST
        return owner if name == "copy" else element(owner)
    return HOST


def _grow(frame: Frame, node: ast.Call, owner: Kind, name: str, arguments: Arguments) -> Kind:
    assert isinstance(node.func, ast.Attribute)
    values = arguments.positional
    grown: Kind | None = None
    result = HOST
    if name == "setdefault":
        value = values[1] if len(values) > 1 else HOST
        grown = put(owner, value)
        result = join(owner.of, value) if owner.tag == "map" else UNKNOWN
    elif name == "update" and owner.tag == "map":
        for kind in arguments.all():
            grown = put(grown or owner, kind.of if kind.tag == "map" else UNKNOWN)
    elif name in ("extend", "update") and values:
        grown = put(owner, element(values[0]))
    elif values:
        grown = put(owner, values[-1])
    if grown is not None and grown != owner:
        keep(frame, node.func.value, grown)
    return result


__all__ = ["CPU", "container_method", "place_of", "tensor_method", "unknown_method"]
