"""Methods of tensors, of containers, and of values that nothing is known about."""

from __future__ import annotations

import re

from codemods.hotpath.arguments import CONSTANT, Arguments
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
    merged,
    put,
    seq,
    tup,
    under,
)
from codemods.hotpath.launchers import launcher_method, named_launcher
from codemods.hotpath.outcome import Outcome
from codemods.hotpath.vocabulary import (
    LOGGING,
    MASKS,
    METADATA,
    NUMBERS,
    SIZED,
    SPLITS,
    TENSOR_ONLY,
    VIEWS,
    WORKING,
)
from codemods.hotpath.waits import (
    ANSWERS,
    BARRIERS,
    CHECKED_METHODS,
    KEEPERS,
    READS,
    SHAPES,
    TRACKERS,
    is_fence,
)

READ_CODES = {"item": "HP001", "cpu": "HP002", "tolist": "HP003", "numpy": "HP004"}
assert READ_CODES.keys() == READS.keys()

# `synchronize_between_processes` and the like make processes agree, and wait for no stream.
_AMONG_PROCESSES = re.compile(
    r"_(?:across|batch|between|bn|buffer|grad|model|param|process|rank|rng|state|weight)"
)
_DEVICE_NAMES = ("device", "dev")
_LEGACY = re.compile(r"torch\.\w*(?:\.\w+)?Tensor$")


def tensor_method(owner: Kind, name: str, arguments: Arguments) -> Outcome:
    """Call a method of a tensor."""
    if owner.tag == "cpu":
        return _on_host(name, arguments)
    if name == "numpy" and not arguments.says("force", True):
        return Outcome(
            HOST
        )  # of a tensor on the device it is an error, of one in host memory it costs nothing
    if name in READS:
        return _read(name)
    if name in SIZED and any(map(holds_tensor, arguments.all()[SIZED[name] :])):
        return Outcome(seq(owner) if name in SPLITS else owner, "HP007")
    if any(is_tensor(arguments.keywords.get(keyword, HOST)) for keyword in NUMBERS.get(name, ())):
        return Outcome(TENSOR, "HP007", "queued")
    if name in ("masked_fill", "masked_fill_", "index_fill", "index_fill_") and is_tensor(
        arguments.positional[-1] if arguments.positional[1:] else HOST
    ):
        return Outcome(owner, "HP007", "queued")
    if name in ("new_full", "new_zeros", "new_ones", "new_empty") and any(map(holds_tensor, arguments.all())):
        return Outcome(TENSOR, "HP007", "queued")
    if name in ("to", "type", "copy_", "cuda"):
        return _moved(owner, name, arguments)
    if name in ("items", "keys") and not arguments.all():
        # Annotated as a tensor or a dict of them: here it is the dict.
        return Outcome(seq(tup((HOST, owner))) if name == "items" else seq(HOST))
    if name in SHAPES or (name == "repeat_interleave" and _repeats(arguments)):
        return Outcome(TENSOR, "HP006", "queued")
    if name == "tensor_split" and is_tensor(arguments.first() or HOST):
        return Outcome(seq(TENSOR), "HP006")
    if name in ANSWERS:
        return Outcome(HOST, "HP014")
    if name in CHECKED_METHODS:
        return Outcome(TENSOR, "HP014", "queued")
    if name in ("__float__", "__int__", "__bool__", "__index__"):
        return Outcome(HOST, "HP007")
    if name in ("__repr__", "__str__", "__format__"):
        return Outcome(HOST, "HP009")
    if name in METADATA:
        return Outcome(HOST, after="queued" if name == "backward" else "same")
    if name in VIEWS:
        return Outcome(owner)
    if name in SPLITS:
        return Outcome(seq(owner))
    stall = "HP007" if name in ("apply_", "map_") else None
    same = owner.tag == "mask" and name in ("clone", "repeat", "roll", "tile")
    return Outcome(MASK if same or name in MASKS else TENSOR, stall, "queued")


def _read(name: str) -> Outcome:
    # One transfer for all, before the loop: what was queued is done.
    return Outcome(CPU if name == "cpu" else HOST, READ_CODES[name], "same" if name == "item" else "drained")


def _repeats(arguments: Arguments) -> bool:
    first = arguments.first("repeats")
    return first is not None and is_tensor(first) and "output_size" not in arguments.keywords


def place_of(arguments: Arguments, position: int | None = 0) -> str | None:
    """Where a call puts its result: ``cpu``, ``device``; None if it does not say."""
    kind = arguments.keywords.get("device")
    word = arguments.device_word
    if kind is None and position is not None and position < len(arguments.positional):
        kind = arguments.positional[position]
        word = arguments.word(position)
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
    if word in (CONSTANT, "None"):
        return "device" if word == CONSTANT else None
    keyword = "device" in arguments.keywords
    return "device" if keyword or word.endswith(_DEVICE_NAMES) or word.startswith("device") else None


def _moved(owner: Kind, name: str, arguments: Arguments) -> Outcome:
    """``to``, ``type``, ``cuda`` and ``copy_`` of a tensor that may be on the device."""
    blocking = not arguments.says("non_blocking", True)
    first = arguments.first()
    if name in ("cuda", "copy_"):
        from_host = name == "copy_" and first is not None and first.tag == "cpu"
        return Outcome(owner, "HP015" if from_host and blocking else None, "queued")
    if name == "type":
        if first is None:
            return Outcome(HOST)
        legacy = first.tag in ("text", "ext") and isinstance(first.of, str) and _LEGACY.match(first.of)
        return Outcome(CPU, "HP005") if legacy and "cuda" not in first.of else Outcome(TENSOR)
    if place_of(arguments) == "cpu":
        return Outcome(CPU, "HP005", "drained") if blocking else Outcome(CPU)
    return Outcome(TENSOR if owner.tag == "mask" else owner, after="queued")


def _on_host(name: str, arguments: Arguments) -> Outcome:
    """A method of a tensor in host memory."""
    if name in ("item", "tolist", "numpy") or name in METADATA or name in ANSWERS:
        return Outcome(HOST)
    if name in ("items", "keys") and not arguments.all():
        key = Kind("text")  # a batch may be a dict of tensors
        return Outcome(seq(tup((key, CPU))) if name == "items" else seq(key))
    blocking = not arguments.says("non_blocking", True)
    if name == "cuda" or (name == "to" and place_of(arguments) == "device"):
        return Outcome(TENSOR, "HP015" if blocking else None)
    if name == "copy_":
        source = arguments.first()
        read = source is not None and is_tensor(source) and blocking
        return Outcome(CPU, "HP005" if read else None)
    return Outcome(seq(CPU) if name in SPLITS else CPU)


def unknown_method(owner: Kind, name: str, arguments: Arguments) -> Outcome | None:
    """Call a method of something unknown, where its name tells; None where it does not."""
    if named_launcher(arguments):
        launched = launcher_method(name, arguments)
        if launched is not None:
            return launched
    if name in READS:
        # `.item(3)` is an array's or a mapping's; only `.numpy` takes options of its own.
        if name == "numpy" and not arguments.says("force", True):
            return Outcome(HOST)
        return Outcome(UNKNOWN) if arguments.positional else _read(name)
    if is_fence(name) and not _AMONG_PROCESSES.search(name):
        return Outcome(HOST, "HP012" if "event" in arguments.receiver else "HP011", "idle")
    if name == "to" and place_of(arguments) == "cpu":
        return _moved(owner, name, arguments)
    if name in ("to", "cuda") and (arguments.module or name == "to"):
        if arguments.module:
            return Outcome(Kind("inst", "torch.nn.Module"))
        if place_of(arguments) == "device":
            return Outcome(TENSOR, after="queued")
    if name in BARRIERS and not arguments.positional:
        return Outcome(HOST, "HP017")
    if name in ("parameters", "buffers"):
        return Outcome(seq(TENSOR))
    if name in ("named_parameters", "named_buffers"):
        return Outcome(seq(tup((HOST, TENSOR))))
    if name in ("named_children", "named_modules"):
        return Outcome(seq(tup((HOST, Kind("inst", "torch.nn.Module")))))
    if name == "nonzero" and not arguments.all():
        return Outcome(TENSOR, "HP006")
    if name in ("argwhere", "masked_select", "unique_consecutive", "is_nonzero", "coalesce"):
        return tensor_method(TENSOR, name, arguments)
    given = any(map(holds_tensor, arguments.all()))
    if name in LOGGING and ("log" in arguments.receiver):
        return Outcome(HOST, "HP009" if given else None)
    if name in KEEPERS and "metric" in arguments.receiver:
        return Outcome(HOST, "HP014" if given else None)
    if name in TRACKERS or (name == "log" and given):
        return Outcome(HOST, "HP019" if given else None)
    if "scaler" in arguments.receiver and name in ("step", "get_scale"):
        return Outcome(UNKNOWN if name == "step" else HOST, "HP014", "queued")
    if name in WORKING:
        result = UNKNOWN if name in ("step", "forward") else HOST if name == "backward" else TENSOR
        return Outcome(result, after="queued")
    if name in TENSOR_ONLY:
        return tensor_method(TENSOR, name, arguments)
    if name in ("size", "dim", "numel", "nelement", "data_ptr", "element_size"):
        return Outcome(HOST)
    if name == "sample" and arguments.receiver.endswith("space"):
        return Outcome(HOST)  # of a space of actions: the environment's, and an array
    if name in ("sample", "rsample", "log_prob", "entropy") and "dist" in arguments.receiver:
        # What it is asked for is looked at, unless something in the program says that it is not.
        reads = name == "log_prob" and given and arguments.validates
        return Outcome(TENSOR, "HP014" if reads else None, "queued")
    return Outcome(mapping(UNKNOWN)) if name == "state_dict" else None


def container_method(owner: Kind, name: str, arguments: Arguments) -> Outcome:
    """Call a method of a list, a dict, a tuple, or of something on the host."""
    first = arguments.first()
    if name in ("append", "add", "appendleft", "insert", "extend", "update", "setdefault"):
        return _grow(owner, name, arguments)
    given = any(map(holds_tensor, arguments.all()))
    if name == "format" and owner.tag == "text" and given:
        return Outcome(HOST, "HP009")
    if name in TRACKERS and given:
        return Outcome(HOST, "HP019")
    if owner.tag == "map":
        return Outcome(_of_mapping(owner, name, arguments))
    if owner.tag in ("seq", "tup"):
        if name in ("index", "remove", "count", "sort", "reverse", "clear"):
            compared = name in ("index", "remove", "count") and first is not None and is_tensor(first)
            ordered = name == "sort" and is_tensor(element(owner)) and "key" not in arguments.keywords
            return Outcome(HOST, "HP008" if compared or ordered else None)
        return Outcome(owner if name == "copy" else element(owner))
    return Outcome(HOST)


def _of_mapping(owner: Kind, name: str, arguments: Arguments) -> Kind:
    value = UNKNOWN if owner.of.tag == "bottom" else owner.of
    if name in ("get", "pop"):
        value = under(owner, arguments.first() or HOST)
        default = arguments.positional[1] if len(arguments.positional) > 1 else HOST
        return value if value.tag == "unknown" else join(value, default)
    views = {"values": seq(value), "items": seq(tup((HOST, value))), "keys": seq(HOST), "copy": owner}
    return views.get(name, HOST if name == "clear" else UNKNOWN)


def _grow(owner: Kind, name: str, arguments: Arguments) -> Outcome:
    values = arguments.positional
    grown: Kind | None = None
    result = HOST
    if name == "setdefault":
        value = values[1] if len(values) > 1 else HOST
        grown = put(owner, value, key=values[0] if values else HOST)
        result = join(owner.of, value) if owner.tag == "map" else UNKNOWN
    elif name == "update" and owner.tag == "map":
        grown = owner
        for kind in values:
            grown = merged(grown, kind)
        for key, kind in arguments.keywords.items():
            grown = put(grown, kind, key=Kind("text", key)) or grown
    elif name in ("extend", "update") and values:
        grown = put(owner, element(values[0]))
    elif values:
        grown = put(owner, values[-1])
    return Outcome(result, grown=None if grown == owner else grown)
