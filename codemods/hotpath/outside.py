"""Calls of functions and classes outside the program: builtins, torch, numpy, the standard library."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from codemods.analysis.waits import (
    ALLOCATOR,
    ANSWERS,
    CHECKED,
    COLLECTIVES,
    READS,
    SAVERS,
    SHAPES,
    TRACKER_FUNCTIONS,
    is_fence,
)
from codemods.hotpath.arguments import Arguments, says
from codemods.hotpath.frame import Frame
from codemods.hotpath.kinds import (
    BOTTOM,
    CPU,
    EMPTY,
    EVENT,
    HOST,
    MASK,
    STREAM,
    TENSOR,
    UNKNOWN,
    Kind,
    element,
    holds_tensor,
    is_host,
    is_tensor,
    join,
    join_all,
    mapping,
    seq,
    tup,
)
from codemods.hotpath.methods import place_of, tensor_method, unknown_method
from codemods.hotpath.vocabulary import (
    CONSTRUCTORS,
    FROM_HOST,
    HOST_BUILTINS,
    LOGGING,
    MASKS,
    PLAIN,
    TORCH_HOST,
    TORCH_OTHERS,
    TORCH_TOOLS,
)

_TEXT = frozenset({"print", "str", "repr", "format", "ascii"})
_NUMBER = frozenset({"float", "int", "bool", "complex", "range", "chr", "hex", "oct", "bin", "pow_"})
_LISTS = frozenset({"list", "set", "frozenset", "iter", "reversed"})


def call_external(frame: Frame, node: ast.Call, dotted: str, arguments: Arguments) -> Kind:
    """Call something outside the program."""
    root, _, rest = dotted.partition(".")
    if root == "builtins":
        return _builtin(frame, node, rest, arguments)
    if root == "torch":
        return _torch(frame, node, dotted, arguments)
    if root in ("numpy", "np"):
        if any(map(holds_tensor, arguments.all())):
            frame.report("HP004", node)
        return HOST
    if dotted in SAVERS or dotted in TRACKER_FUNCTIONS:
        if any(map(holds_tensor, arguments.all())):
            frame.report("HP016" if dotted in SAVERS else "HP019", node)
        return HOST
    if root == "logging" and dotted.rpartition(".")[2] in LOGGING:
        if any(map(holds_tensor, arguments.all())):
            frame.report("HP009", node)
        return HOST
    if root in PLAIN:
        if root in ("math", "statistics") and any(map(holds_tensor, arguments.all())):
            frame.report("HP007", node)
        return HOST
    return _library(frame, node, dotted, arguments)


def _library(frame: Frame, node: ast.Call, dotted: str, arguments: Arguments) -> Kind:
    """Parts of the standard library that hand on what they are given, and unknown packages."""
    name = dotted.rpartition(".")[2]
    first = arguments.first()
    if dotted in ("copy.copy", "copy.deepcopy", "dataclasses.replace") and first is not None:
        return first
    if dotted in ("collections.deque", "collections.OrderedDict"):
        empty = EMPTY if name == "deque" else mapping(BOTTOM)
        return empty if first is None else (seq(element(first)) if name == "deque" else first)
    if dotted == "collections.defaultdict":
        made = BOTTOM if first is None else frame.machine.call_kind(frame, node, first, Arguments())
        return mapping(made)
    if dotted == "collections.Counter":
        return HOST
    if dotted in ("functools.partial", "functools.partialmethod") and first is not None:
        kept = tuple(arguments.keywords.items())
        return Kind("partial", (first, arguments.positional[1:], kept))
    if dotted == "functools.reduce" and len(arguments.positional) > 1:
        item = element(arguments.positional[1])
        assert first is not None
        return frame.machine.call_kind(frame, node, first, Arguments((item, item)))
    if dotted.startswith("itertools."):
        return seq(join_all(map(element, arguments.positional)) if arguments.positional else UNKNOWN)
    if name in ("tqdm", "trange", "track"):
        return UNKNOWN if first is None else first
    frame.machine.run_arguments(frame, node, arguments)
    root = dotted.partition(".")[0]
    if any(map(holds_tensor, arguments.all())):
        frame.fenced = False
        return UNKNOWN
    return Kind("inst", dotted) if name[:1].isupper() and root not in sys.stdlib_module_names else UNKNOWN


def _builtin(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Kind:
    first = arguments.first()
    if name in _TEXT:
        if any(map(holds_tensor, arguments.all())):
            frame.report("HP009", node)
        return HOST
    if name in _NUMBER:
        if any(map(is_tensor, arguments.all())):
            frame.report("HP007", node)
        return HOST
    if name == "len":
        if first is not None and is_tensor(first):
            frame.report("HP013", node)
        return HOST
    if name in HOST_BUILTINS:
        return HOST
    if first is None:
        return {"dict": mapping(BOTTOM), "tuple": tup(())}.get(name, EMPTY if name in _LISTS else UNKNOWN)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(frame, node, arguments, first)
    if name in _LISTS:
        return seq(element(first))
    if name == "tuple":
        return first if first.tag == "tup" else seq(element(first))
    if name in ("abs", "round", "divmod", "pow"):
        if is_tensor(first):
            frame.fenced = False
        return first if first.tag in ("tensor", "mask", "cpu", "unknown") else HOST
    return UNKNOWN


def _decides(frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    """``min``, ``max``, ``sorted``: compare their arguments, or what is in them."""
    name = getattr(node.func, "id", "")
    if len(arguments.positional) > 1:
        item = join_all(arguments.positional)
    else:
        item = element(first)
    if is_tensor(item) and "key" not in arguments.keywords:
        frame.report("HP008", node)
    if "key" in arguments.keywords:
        result = frame.machine.call_kind(frame, node, arguments.keywords["key"], Arguments((item,)))
        if is_tensor(result):
            frame.report("HP008", node)
    return seq(item) if name == "sorted" else item


def _truths(frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    if is_tensor(element(first)):
        frame.report("HP008", node)
    return HOST


def _sum(frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    item = element(first)
    if is_tensor(item):
        frame.fenced = False
    return TENSOR if is_tensor(item) else item


def _map(frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    rest = tuple(map(element, arguments.positional[1:]))
    if first.tag == "host":  # `filter(None, …)` asks each element for its truth
        if rest and is_tensor(rest[0]):
            frame.report("HP008", node)
        return seq(rest[0] if rest else UNKNOWN)
    result = frame.machine.call_kind(frame, node, first, Arguments(rest))
    if getattr(node.func, "id", "") == "filter":
        if is_tensor(result):
            frame.report("HP008", node)
        return seq(rest[0] if rest else UNKNOWN)
    return seq(result)


def _get_attribute(frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    from codemods.hotpath.expressions import attribute

    if len(arguments.positional) > 1 and arguments.positional[1].tag == "text":
        name = arguments.positional[1].of
        if isinstance(name, str):
            kind = attribute(frame, first, name, node)
            return join(kind, arguments.positional[2]) if len(arguments.positional) > 2 else kind
    return UNKNOWN


def _dict(frame: Frame, node: ast.Call, arguments: Arguments, first: Kind) -> Kind:
    if first.tag == "map":
        return mapping(join_all((first.of, *arguments.keywords.values())))
    pair = element(first)
    return mapping(pair.of[1] if pair.tag == "tup" and len(pair.of) == 2 else UNKNOWN)


_SPECIAL: dict[str, Callable[[Frame, ast.Call, Arguments, Kind], Kind]] = {
    "min": _decides,
    "max": _decides,
    "sorted": _decides,
    "any": _truths,
    "all": _truths,
    "sum": _sum,
    "map": _map,
    "filter": _map,
    "getattr": _get_attribute,
    "dict": _dict,
    "zip": lambda frame, node, arguments, first: seq(tup(tuple(map(element, arguments.positional)))),
    "enumerate": lambda frame, node, arguments, first: seq(tup((HOST, element(first)))),
    "next": lambda frame, node, arguments, first: element(first),
}


def _torch(frame: Frame, node: ast.Call, dotted: str, arguments: Arguments) -> Kind:
    head, _, name = dotted.rpartition(".")
    first = arguments.first("input")
    if dotted.startswith(("torch.Tensor.", "torch.nn.Parameter.")) and first is not None:
        rest = Arguments(arguments.positional[1:], arguments.keywords)
        if name in READS and first.tag == "unknown":
            return unknown_method(frame, node, first, name, rest) or UNKNOWN
        return tensor_method(frame, node, first if first.tag == "cpu" else TENSOR, name, rest)
    if is_fence(name):
        frame.report("HP010", node)
        frame.fenced = True
        return HOST
    for names, code in ((ALLOCATOR, "HP018"), (COLLECTIVES, "HP017"), (SAVERS, "HP016")):
        if dotted in names:
            if code != "HP016" or not all(map(is_host, arguments.positional[:1])):
                frame.report(code, node)
            return HOST
    if name[:1].isupper():
        return _torch_class(frame, node, dotted, name, arguments)
    if name in ("device",) and head == "torch":
        return Kind("device", first.of if first is not None and first.tag in ("text", "device") else None)
    if name in ("current_stream", "default_stream", "stream") and head != "torch":
        return STREAM
    if dotted == "torch.autograd.grad":
        frame.fenced = False
        return seq(TENSOR)
    if head in TORCH_TOOLS:
        return HOST
    if dotted.split(".")[1] in TORCH_OTHERS:
        frame.machine.run_arguments(frame, node, arguments)
        return UNKNOWN
    if dotted in ("torch.load", "torch.compile"):
        return first if dotted == "torch.compile" and first is not None else UNKNOWN
    if head == "torch" and name in TORCH_HOST:
        return HOST
    return _torch_function(frame, node, dotted, name, arguments)


def _torch_class(frame: Frame, node: ast.Call, dotted: str, name: str, arguments: Arguments) -> Kind:
    if name in ("Stream", "ExternalStream"):
        return STREAM
    if name == "Event":
        return EVENT
    if dotted.startswith("torch.distributions."):
        validated = not says(node, "validate_args", False)
        if validated and not all(map(is_host, arguments.all())):
            frame.report("HP014", node)
        frame.fenced = False
        return Kind("inst", dotted if validated else "torch.distributions.Unchecked")
    if name in ("Tensor", "FloatTensor", "LongTensor", "IntTensor", "BoolTensor", "Parameter"):
        return join_all(arguments.positional[:1]) if name == "Parameter" and arguments.positional else CPU
    if name in ("Generator", "Size"):
        return HOST
    return Kind("inst", dotted)


def _torch_function(frame: Frame, node: ast.Call, dotted: str, name: str, arguments: Arguments) -> Kind:
    """A function of tensors."""
    given = arguments.all()
    if name in CONSTRUCTORS and dotted == f"torch.{name}":
        if any(is_tensor(kind) for kind in arguments.positional):
            frame.report("HP007", node)
        return TENSOR if place_of(node, arguments, None) == "device" else CPU
    if name in FROM_HOST:
        return _from_host(frame, node, name, arguments)
    if name in ("from_numpy", "frombuffer", "from_dlpack"):
        return CPU if name != "from_dlpack" else TENSOR
    on_host = bool(given) and all(is_host(kind) or kind.tag in ("ext", "device") for kind in given)
    if on_host and name.endswith("_like") and place_of(node, arguments, None) == "device":
        return TENSOR
    if on_host:
        return HOST if name in ANSWERS else CPU
    if name in ANSWERS or dotted in CHECKED or _unchecked_one_hot(name, arguments):
        # `normal` asks only where the deviation is a tensor.
        if name != "normal" or any(map(is_tensor, arguments.positional)):
            frame.report("HP014", node)
        frame.fenced = False
        return HOST if name in ANSWERS or name == "assert_close" else TENSOR
    if name in SHAPES or (name == "where" and len(given) == 1):
        frame.report("HP006", node)
        frame.fenced = False
        return seq(TENSOR) if name == "where" or says(node, "as_tuple", True) else TENSOR
    second = (
        arguments.positional[1] if len(arguments.positional) > 1 else arguments.keywords.get("repeats", HOST)
    )
    if (name == "repeat_interleave" and "output_size" not in arguments.keywords and (
        is_tensor(second) or len(given) == 1)) or (name == "tensor_split" and is_tensor(second)):  # fmt: skip
        frame.report("HP006", node)
        return TENSOR
    if name.startswith("clip_grad") and says(node, "error_if_nonfinite", True):
        frame.report("HP014", node)
    frame.fenced = False
    if name in ("split", "chunk", "unbind", "meshgrid", "broadcast_tensors", "autograd.grad"):
        return seq(TENSOR)
    return MASK if name in MASKS else TENSOR


def _unchecked_one_hot(name: str, arguments: Arguments) -> bool:
    return name == "one_hot" and len(arguments.positional) < 2 and "num_classes" not in arguments.keywords


def _from_host(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Kind:
    """``torch.tensor`` and its like: from numbers, or from tensors that are read one by one."""
    source = arguments.first("data") or HOST
    where = place_of(node, arguments, None)
    if holds_tensor(source):
        if is_tensor(source) and name != "tensor":
            if where == "cpu":
                frame.report("HP005", node)
            return CPU if where == "cpu" else TENSOR
        if not (is_tensor(source) and where == "device"):
            frame.report("HP007", node)
            return TENSOR if where == "device" else CPU
        return TENSOR
    if where == "device":
        if source.tag != "unknown" or name in ("tensor", "scalar_tensor"):
            frame.report("HP015", node)
        return TENSOR
    return UNKNOWN if source.tag == "unknown" and name != "tensor" else CPU


def call_instance(frame: Frame, node: ast.Call, dotted: str, name: str, arguments: Arguments) -> Kind:
    """Call a method of an instance of a class outside the program."""
    if dotted in ("stream", "event"):
        if is_fence(name):
            frame.report("HP011" if dotted == "stream" else "HP012", node)
            frame.fenced = True
        return EVENT if name == "record_event" else HOST
    if dotted.startswith("torch.distributions."):
        frame.fenced = False
        checks = name in ("log_prob", "cdf", "icdf") and not dotted.endswith(".Unchecked")
        if checks:
            frame.report("HP014", node)
        return TENSOR
    if dotted.endswith("GradScaler"):
        if name in ("step", "get_scale"):
            frame.report("HP014", node)
        frame.fenced = False
        return TENSOR if name == "scale" else HOST
    if dotted.startswith("torch.nn."):
        return _module(frame, node, name, arguments)
    if dotted.startswith("torch.optim."):
        frame.fenced = False
        return HOST
    if dotted.startswith("torch.utils.data."):
        return UNKNOWN
    if dotted.startswith("numpy."):
        return HOST
    result = unknown_method(frame, node, UNKNOWN, name, arguments)
    frame.machine.run_arguments(frame, node, arguments)
    return UNKNOWN if result is None else result


def _module(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Kind:
    if name in ("parameters", "buffers"):
        return seq(TENSOR)
    if name in ("named_parameters", "named_buffers"):
        return seq(tup((HOST, TENSOR)))
    if name == "state_dict":
        return mapping(TENSOR)
    if name in ("modules", "children"):
        return seq(Kind("inst", "torch.nn.Module"))
    if name == "cpu":
        frame.report("HP002", node)
    if name in ("to", "cuda", "cpu", "train", "eval", "half", "float", "double", "requires_grad_", "apply"):
        return Kind("inst", "torch.nn.Module")
    if name in (
        "load_state_dict",
        "zero_grad",
        "register_forward_hook",
        "register_buffer",
        "register_parameter",
    ):
        return HOST
    frame.fenced = False
    return TENSOR


__all__ = ["call_external", "call_instance", "is_tensor"]
