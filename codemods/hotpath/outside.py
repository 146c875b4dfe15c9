"""Calls of functions and classes outside the program: builtins, torch, numpy, the standard library."""

from __future__ import annotations

import sys
from collections.abc import Callable

from codemods.hotpath.arguments import Arguments
from codemods.hotpath.kinds import (
    BOTTOM,
    CPU,
    DISTRIBUTIONS,
    DRAWN,
    EMPTY,
    EVENT,
    HOST,
    LOADER,
    MASK,
    MODULE,
    STREAM,
    TENSOR,
    UNKNOWN,
    Kind,
    as_set,
    element,
    external_instance,
    holds_tensor,
    is_host,
    is_tensor,
    join_all,
    mapping,
    merged,
    seq,
    tup,
)
from codemods.hotpath.launchers import is_launcher, launcher_method
from codemods.hotpath.methods import place_of, tensor_method, unknown_method
from codemods.hotpath.outcome import Outcome
from codemods.hotpath.vocabulary import (
    CONSTRUCTORS,
    FROM_HOST,
    HOST_BUILTINS,
    LOGGING,
    MASKS,
    NUMBERS,
    PLAIN,
    SIZED,
    TORCH_HOST,
    TORCH_OTHERS,
    TORCH_TOOLS,
    VIEWS,
)
from codemods.hotpath.waits import (
    ALLOCATOR,
    ANSWERS,
    CHECKED,
    COLLECTIVES,
    JOINS,
    READS,
    SAVERS,
    SHAPES,
    TRACKER_FUNCTIONS,
    is_fence,
)

_TEXT = frozenset({"print", "str", "repr", "format", "ascii"})
_NUMBER = frozenset({"float", "int", "bool", "complex", "range", "chr", "hex", "oct", "bin", "pow_"})
_SETS = frozenset({"frozenset", "set"})
_SPREADS = frozenset({"DataParallel", "DistributedDataParallel", "FullyShardedDataParallel"})
"""Modules around a module, that bring its inputs to the device."""
_LIKE = VIEWS | {"clone", "ones_like", "zeros_like", "flip", "roll", "tile"}
_LISTS = frozenset({"list", "set", "frozenset", "iter", "reversed"})


def call_external(dotted: str, arguments: Arguments) -> Outcome:
    """Call something outside the program."""
    root, _, rest = dotted.partition(".")
    if root == "builtins":
        return _builtin(rest, arguments)
    if root == "torch":
        return _torch(dotted, arguments)
    given = any(map(holds_tensor, arguments.all()))
    if root in ("numpy", "np"):
        return Outcome(HOST)  # of a tensor on the device it is an error
    if dotted == "operator.index":
        return Outcome(HOST, "HP007" if given else None)
    if dotted in SAVERS or dotted in TRACKER_FUNCTIONS:
        return Outcome(HOST, ("HP016" if dotted in SAVERS else "HP019") if given else None)
    if root == "logging" and dotted.rpartition(".")[2] in LOGGING:
        return Outcome(HOST, "HP009" if given else None)
    if root in PLAIN:
        return Outcome(HOST, "HP007" if root in ("math", "statistics") and given else None)
    return _library(dotted, arguments)


def _library(dotted: str, arguments: Arguments) -> Outcome:
    """Parts of the standard library that hand on what they are given, and unknown packages."""
    name = dotted.rpartition(".")[2]
    first = arguments.first()
    if dotted in ("copy.copy", "copy.deepcopy", "dataclasses.replace") and first is not None:
        return Outcome(first)
    if dotted in ("collections.deque", "collections.OrderedDict"):
        empty = EMPTY if name == "deque" else mapping(BOTTOM)
        return Outcome(empty if first is None else (seq(element(first)) if name == "deque" else first))
    if dotted == "collections.Counter":
        return Outcome(HOST)
    if dotted in ("functools.partial", "functools.partialmethod") and first is not None:
        kept = tuple(arguments.keywords.items())
        return Outcome(Kind("partial", (first, arguments.positional[1:], kept)))
    if dotted.startswith("itertools."):
        return Outcome(seq(join_all(map(element, arguments.positional)) if arguments.positional else UNKNOWN))
    if name.lower() in ("tqdm", "trange", "track"):
        return Outcome(UNKNOWN if first is None else first)
    if any(map(holds_tensor, arguments.all())):
        return Outcome(UNKNOWN, "HP014" if dotted in CHECKED else None, "queued")
    known = name[:1].isupper() and dotted.partition(".")[0] not in sys.stdlib_module_names
    return Outcome(external_instance(dotted) if known else UNKNOWN)


def _builtin(name: str, arguments: Arguments) -> Outcome:
    first = arguments.first()
    if name in _TEXT:
        return Outcome(HOST, "HP009" if any(map(holds_tensor, arguments.all())) else None)
    if name in _NUMBER:
        return Outcome(HOST, "HP007" if any(map(is_tensor, arguments.all())) else None)
    if name == "len":
        return Outcome(HOST, "HP013" if first is not None and is_tensor(first) else None)
    if name in HOST_BUILTINS:
        return Outcome(HOST)
    if first is None and name == "dict":
        return Outcome(mapping(join_all(arguments.keywords.values()), arguments.keywords))
    if first is None:
        empty = as_set(BOTTOM) if name in _SETS else EMPTY
        return Outcome({"tuple": tup(())}.get(name, empty if name in _LISTS else UNKNOWN))
    special = _SPECIAL.get(name)
    if special is not None:
        return special(arguments, first)
    if name == "iter" and first.tag == "inst":
        return Outcome(first)
    if name in _LISTS:
        return Outcome((as_set if name in _SETS else seq)(element(first)))
    if name == "tuple":
        return Outcome(first if first.tag == "tup" else seq(element(first)))
    if name in ("abs", "round", "divmod", "pow"):
        kind = first if first.tag in ("tensor", "mask", "cpu", "unknown") else HOST
        return Outcome(kind, after="queued" if is_tensor(first) else "same")
    return Outcome(UNKNOWN)


def compared(arguments: Arguments) -> Kind:
    """Return the kind that ``min``, ``max`` and ``sorted`` compare: of their arguments, or of items of the
    only one.
    """
    if len(arguments.positional) > 1:
        return join_all(arguments.positional)
    return element(arguments.positional[0]) if arguments.positional else UNKNOWN


def _least(arguments: Arguments, first: Kind) -> Outcome:
    item = compared(arguments)
    return Outcome(item, "HP008" if is_tensor(item) and "key" not in arguments.keywords else None)


def _sorted(arguments: Arguments, first: Kind) -> Outcome:
    item, stall, *_ = _least(arguments, first)
    return Outcome(seq(item), stall)


def _truths(arguments: Arguments, first: Kind) -> Outcome:
    return Outcome(HOST, "HP008" if is_tensor(element(first)) else None)


def _sum(arguments: Arguments, first: Kind) -> Outcome:
    item = element(first)
    return Outcome(TENSOR, after="queued") if is_tensor(item) else Outcome(item)


def _dict(arguments: Arguments, first: Kind) -> Outcome:
    if first.tag == "map":
        return Outcome(merged(first, mapping(join_all(arguments.keywords.values()), arguments.keywords)))
    pair = element(first)
    return Outcome(mapping(pair.of[1] if pair.tag == "tup" and len(pair.of) == 2 else UNKNOWN))


_SPECIAL: dict[str, Callable[[Arguments, Kind], Outcome]] = {
    "min": _least,
    "max": _least,
    "sorted": _sorted,
    "any": _truths,
    "all": _truths,
    "sum": _sum,
    "dict": _dict,
    "zip": lambda arguments, first: Outcome(seq(tup(tuple(map(element, arguments.positional))))),
    "enumerate": lambda arguments, first: Outcome(seq(tup((HOST, element(first))))),
    "next": lambda arguments, first: Outcome(element(first)),
}


def _torch(dotted: str, arguments: Arguments) -> Outcome:
    head, _, name = dotted.rpartition(".")
    first = arguments.first("input")
    if dotted.startswith(("torch.Tensor.", "torch.nn.Parameter.")) and first is not None:
        rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.node, skipped=1)
        if name in READS and first.tag == "unknown":
            return unknown_method(first, name, rest) or Outcome(UNKNOWN)
        return tensor_method(first if first.tag == "cpu" else TENSOR, name, rest)
    if is_fence(name):
        return Outcome(HOST, "HP010", "idle")
    for names, code in ((ALLOCATOR, "HP018"), (COLLECTIVES, "HP017"), (SAVERS, "HP016")):
        if dotted in names:
            harmless = code == "HP016" and all(map(is_host, arguments.positional[:1]))
            return Outcome(HOST, None if harmless else code)
    if name in _SPREADS:
        inner = next((kind for kind in (first, arguments.first("module")) if kind is not None), UNKNOWN)
        known = inner.tag in ("obj", "mods", "spread")
        return Outcome(inner if inner.tag == "spread" else Kind("spread", inner if known else MODULE))
    if dotted in ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"):
        return Outcome(Kind("inst", LOADER))
    if name[:1].isupper():
        return _torch_class(dotted, name, arguments)
    if name in ("device",) and head == "torch":
        of = first.of if first is not None and first.tag in ("text", "device") else None
        return Outcome(Kind("device", of))
    if name in ("current_stream", "default_stream", "stream") and head != "torch":
        return Outcome(STREAM)
    if dotted == "torch.autograd.grad":
        return Outcome(seq(TENSOR), after="queued")
    if head in TORCH_TOOLS:
        return Outcome(HOST)
    if dotted.split(".")[1] in TORCH_OTHERS:
        return Outcome(UNKNOWN)
    if dotted in ("torch.load", "torch.compile"):
        return Outcome(first if dotted == "torch.compile" and first is not None else UNKNOWN)
    if head == "torch" and name in TORCH_HOST:
        return Outcome(HOST)
    return _torch_function(dotted, name, arguments)


UNCHECKED = f"{DISTRIBUTIONS}unchecked."
"""How the classes of distributions that validate nothing begin here."""


def validates(arguments: Arguments) -> bool:
    """Tell whether a distribution that is made so looks at its parameters, and at what it is asked for."""
    return not arguments.says("validate_args", False) and (
        arguments.validates or arguments.says("validate_args", True)
    )


def made_distribution(made: Kind, arguments: Arguments) -> Outcome:
    """Make a distribution."""
    reads = validates(arguments) and not all(map(is_host, arguments.all()))
    return Outcome(made, "HP014" if reads else None, "queued")


def _torch_class(dotted: str, name: str, arguments: Arguments) -> Outcome:
    if name in ("Stream", "ExternalStream"):
        return Outcome(STREAM)
    if name == "Event":
        return Outcome(EVENT)
    if dotted.startswith(DISTRIBUTIONS):
        made = Kind("inst", dotted if validates(arguments) else f"{UNCHECKED}{name}")
        return made_distribution(made, arguments)
    if name in ("Tensor", "FloatTensor", "LongTensor", "IntTensor", "BoolTensor", "Buffer", "Parameter"):
        if name in ("Buffer", "Parameter"):
            return Outcome(TENSOR)  # it follows its module to the device
        # `torch.Tensor([t, u])` takes the numbers out of tensors one by one.
        return Outcome(
            CPU, "HP007" if any(holds_tensor(k) and not is_tensor(k) for k in arguments.positional) else None
        )
    return Outcome(HOST if name in ("Generator", "Size") else Kind("inst", dotted))


def _torch_function(dotted: str, name: str, arguments: Arguments) -> Outcome:
    """A function of tensors."""
    given = arguments.all()
    place = place_of(arguments, None)
    if name in CONSTRUCTORS and dotted == f"torch.{name}":
        sized = any(map(holds_tensor, arguments.positional)) or is_tensor(
            arguments.keywords.get("fill_value", HOST)
        )
        on_device = place == "device" or (place is None and arguments.on_device)
        if arguments.nothing and name in ("empty", "ones", "rand", "randn", "zeros"):
            return Outcome(TENSOR)  # nothing is in it: wherever it goes, nothing is copied
        return Outcome(TENSOR if on_device else CPU, "HP007" if sized else None)
    if name == "histc" and any(map(is_tensor, given)):
        return Outcome(TENSOR, "HP014", "queued")
    if name in FROM_HOST:
        return Outcome(TENSOR) if arguments.empty else _from_host(name, arguments)
    if name in ("from_numpy", "from_file", "frombuffer", "from_dlpack"):
        return Outcome(CPU if name != "from_dlpack" else TENSOR)
    if given and all(is_host(kind) or kind.tag in ("ext", "device") for kind in given):
        if name.endswith("_like") and place == "device":
            return Outcome(TENSOR)
        return Outcome(HOST if name in ANSWERS else CPU)
    if name in ANSWERS or dotted in CHECKED or _unchecked_one_hot(name, arguments):
        # `normal` asks only where the deviation is a tensor.
        reads = name != "normal" or any(map(is_tensor, arguments.positional))
        result = HOST if name in ANSWERS or name == "assert_close" else TENSOR
        return Outcome(result, "HP014" if reads else None, "queued")
    if name in SHAPES or (name == "where" and len(given) == 1):
        several = name == "where" or arguments.says("as_tuple", True)
        return Outcome(seq(TENSOR) if several else TENSOR, "HP006", "queued")
    if _counted(name, arguments):
        return Outcome(TENSOR, "HP006")
    if _numbered(name, arguments):
        return Outcome(seq(TENSOR) if name in ("split", "chunk") else TENSOR, "HP007", "queued")
    checks = name.startswith("clip_grad") and arguments.says("error_if_nonfinite", True)
    several = name in ("split", "chunk", "unbind", "meshgrid", "broadcast_tensors", "autograd.grad")
    result = seq(TENSOR) if several else MASK if name in MASKS or _of_masks(name, arguments) else TENSOR
    return Outcome(result, "HP014" if checks else None, "queued")


def _of_masks(name: str, arguments: Arguments) -> bool:
    """Tell whether a function puts masks together, or makes one like another."""
    first = arguments.first("input") or HOST
    if name in JOINS:
        return bool(join_all(first.of) == MASK) if first.tag == "tup" else first == Kind("seq", MASK)
    return name in _LIKE and first.tag == "mask" and "dtype" not in arguments.keywords


def _numbered(name: str, arguments: Arguments) -> bool:
    """Tell whether a tensor is given where a number is wanted."""
    positional = arguments.positional
    at = {"pad": 1, "clip_grad_norm_": 1, "clip_grad_value_": 1, "full_like": 1, "one_hot": 1}.get(name)
    given = positional[1:] if name in SIZED else positional[at : at + 1] if at is not None else ()
    if name in ("masked_fill", "index_fill"):
        given = positional[-1:] if len(positional) > 2 else ()
    return any(map(holds_tensor, given)) or any(
        holds_tensor(arguments.keywords.get(keyword, HOST)) for keyword in NUMBERS.get(name, ())
    )


def _counted(name: str, arguments: Arguments) -> bool:
    """Tell whether the size of the result is in a tensor that is passed."""
    given = arguments.positional
    second = given[1] if len(given) > 1 else arguments.keywords.get("repeats", HOST)
    if name == "repeat_interleave":
        return "output_size" not in arguments.keywords and (is_tensor(second) or len(arguments.all()) == 1)
    return name == "tensor_split" and is_tensor(second)


def _unchecked_one_hot(name: str, arguments: Arguments) -> bool:
    return name == "one_hot" and len(arguments.positional) < 2 and "num_classes" not in arguments.keywords


def _from_host(name: str, arguments: Arguments) -> Outcome:
    """``torch.tensor`` and its like: from numbers, or from tensors that are read one by one."""
    source = arguments.first("data") or HOST
    where = place_of(arguments, None)
    if where is None and arguments.on_device and source.tag != "cpu":
        where = "device"
    if holds_tensor(source):
        if is_tensor(source) and name != "tensor":
            return Outcome(CPU, "HP005") if where == "cpu" else Outcome(TENSOR)
        if not (is_tensor(source) and where == "device"):
            return Outcome(TENSOR if where == "device" else CPU, "HP007")
        return Outcome(TENSOR)
    if where == "device":
        copied = source.tag != "unknown" or name in ("tensor", "scalar_tensor")
        return Outcome(TENSOR, "HP015" if copied else None)
    return Outcome(UNKNOWN if source.tag == "unknown" and name != "tensor" else CPU)


def call_instance(dotted: str, name: str, arguments: Arguments) -> Outcome:
    """Call a method of an instance of a class outside the program."""
    if dotted in ("stream", "event"):
        kind = EVENT if name == "record_event" else HOST
        if is_fence(name):
            return Outcome(kind, "HP011" if dotted == "stream" else "HP012", "idle")
        return Outcome(kind)
    if dotted.startswith(DISTRIBUTIONS):
        checked = arguments.validates and not dotted.startswith(UNCHECKED)
        checks = checked and name in ("log_prob", "cdf", "icdf")
        draws = name in ("sample", "sample_n") and dotted.endswith(DRAWN)
        return Outcome(TENSOR, "HP014" if checks or draws else None, "queued")
    if dotted.endswith("GradScaler"):
        reads = name in ("step", "get_scale")
        return Outcome(TENSOR if name == "scale" else HOST, "HP014" if reads else None, "queued")
    if is_launcher(dotted):
        return launcher_method(name, arguments) or Outcome(UNKNOWN)
    if dotted.startswith("torch.nn."):
        return _module(name, arguments)
    if dotted.startswith("torch.optim."):
        if name == "step" and dotted.endswith("LBFGS"):
            return Outcome(TENSOR, "HP014", "queued")
        if name == "step" and dotted.endswith("ReduceLROnPlateau") and any(map(is_tensor, arguments.all())):
            return Outcome(HOST, "HP007", "queued")
        return Outcome(mapping(TENSOR) if name == "state_dict" else HOST, after="queued")
    if dotted == LOADER:
        return Outcome(Kind("inst", LOADER) if name == "__iter__" else UNKNOWN)
    if dotted.startswith("torch.utils.data."):
        return Outcome(UNKNOWN)
    if dotted.startswith("numpy."):
        return Outcome(HOST)
    return unknown_method(UNKNOWN, name, arguments) or Outcome(UNKNOWN)


def _module(name: str, arguments: Arguments) -> Outcome:
    given = arguments.all()
    if name == "__call__" and all(map(is_host, given)) and any(kind.tag == "cpu" for kind in given):
        return Outcome(CPU)  # with its weights on the device this would be an error
    if name in ("named_children", "named_modules"):
        return Outcome(seq(tup((HOST, Kind("inst", "torch.nn.Module")))))
    if name in ("parameters", "buffers"):
        return Outcome(seq(TENSOR))
    if name in ("named_parameters", "named_buffers"):
        return Outcome(seq(tup((HOST, TENSOR))))
    if name == "state_dict":
        return Outcome(mapping(TENSOR))
    if name in ("modules", "children"):
        return Outcome(seq(Kind("inst", "torch.nn.Module")))
    if name in ("to", "cuda", "cpu", "train", "eval", "half", "float", "double", "requires_grad_", "apply"):
        return Outcome(Kind("inst", "torch.nn.Module"), "HP002" if name == "cpu" else None)
    if name in (
        "load_state_dict",
        "zero_grad",
        "register_forward_hook",
        "register_buffer",
        "register_parameter",
    ):
        return Outcome(HOST)
    return Outcome(TENSOR, after="queued")
