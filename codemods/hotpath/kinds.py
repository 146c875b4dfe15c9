"""Kinds of values: whether reading one waits for the device.

A kind is a tag and what it is a kind of. Kinds form a join semilattice in which a tensor on the device wins:
what may be one on some path is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from codemods.hotpath.waits import ANSWERS, CHECKED, SHAPES


class Kind(NamedTuple):
    """One abstract value.

    Attributes:
        tag: which sort of value.
        of: by the tag: the kind of the elements (``seq``, ``map``), a tuple of kinds (``tup``; ``mods``:
            modules in a container), a module (``spread``: its inputs are brought to the device), classes of
            the program (``obj``, ``cls``), functions with what they are bound to (``fn``), a dotted name
            outside the program (``ext``, ``inst``), a module of it (``mod``), a string (``text``,
            ``device``), a receiver with a name (``bound``), a callable with arguments (``partial``).
        more: of a ``map``, pairs of a constant key and what is under it; of a ``seq``, `SET` if it is a set.
    """

    tag: str
    of: Any = None
    more: Any = ()


BOTTOM = Kind("bottom")
"""No value at all yet, as the elements of an empty list."""
UNKNOWN = Kind("unknown")
HOST = Kind("host")
"""Something that is on the host, with everything in it: a number, a string, an array, a file."""
CPU = Kind("cpu")
"""A tensor in host memory."""
TENSOR = Kind("tensor")
"""A tensor that may be on the device."""
MASK = Kind("mask")
"""A boolean one."""
STREAM = Kind("stream")
EVENT = Kind("event")
EVERY, MOSTLY = "every", "mostly"
"""Of a truth on the host: it holds every so many rounds only, or in all but those."""
EMPTY = Kind("seq", BOTTOM)
MODULE = Kind("inst", "torch.nn.Module")

SET = ("set",)
"""Kind of a set: a member is compared with what has its hash, with no tensor but itself."""

LOADER = "torch.utils.data.DataLoader"
"""Gives batches, in host memory."""
PREPARED = "prepared loader"
"""Gives batches that a launcher has put on the device."""

DISTRIBUTIONS = "torch.distributions."
"""How the classes of distributions begin."""
DRAWN = ("Categorical", "Multinomial", ".Normal", ".LogNormal")
"""They draw by `torch.multinomial` and by `torch.normal` of tensors, whose arguments are looked at first."""

_FUNCTIONS = frozenset({"torch", "torch.nn.functional", "torch.special"})
_TENSORS = frozenset({"tensor", "mask"})
_HOSTS = frozenset({"host", "text", "device"})
_CALLED = frozenset({"fn", "obj", "cls", "mods", "partial", "spread"})
_DEEPEST = 6
_MOST_KEYS = 24


def seq(element: Kind) -> Kind:
    """A list, set, iterator…, of elements of one kind."""
    return Kind("seq", element) if depth(element) < _DEEPEST else UNKNOWN


def tup(parts: tuple[Kind, ...]) -> Kind:
    """A tuple whose elements are known one by one."""
    return Kind("tup", parts) if max(map(depth, parts), default=0) < _DEEPEST else UNKNOWN


def as_set(element: Kind) -> Kind:
    """A set of elements of one kind."""
    found = seq(element)
    return Kind("seq", found.of, SET) if found.tag == "seq" else found


def mapping(value: Kind, keys: Mapping[str, Kind] = MappingProxyType({})) -> Kind:
    """A dict; its keys are on the host, and under some of them is known what there is."""
    if depth(value) >= _DEEPEST:
        return UNKNOWN
    known = len(keys) <= _MOST_KEYS and all(depth(kind) < _DEEPEST for kind in keys.values())
    return Kind("map", value, tuple(keys.items()) if known else ())


def under(owner: Kind, key: Kind) -> Kind:
    """Return the kind of a dict's value under a key."""
    if key.tag == "text" and key.of is not None:
        for name, kind in owner.more:
            if name == key.of:
                return kind  # type: ignore[no-any-return]
    return UNKNOWN if owner.of.tag == "bottom" else owner.of


def modules(parts: Iterable[Kind]) -> Kind:
    """Modules of the program or of torch in one container; those of the program are what is called in it."""
    known = tuple(
        dict.fromkeys(part for part in parts if part.tag in ("obj", "mods", "inst", "fn", "partial"))
    )
    own = tuple(part for part in known if part.tag != "inst")
    return Kind("mods", own or known[:1]) if depth(Kind("mods", own)) < _DEEPEST else UNKNOWN


def one_module(kind: Kind) -> Kind:
    """One of the modules in a container of them."""
    return join_all(kind.of) if kind.of else Kind("inst", "torch.nn.Module")


def depth(kind: Kind) -> int:
    """How deeply containers are nested in a kind."""
    if kind.tag == "map" and kind.more:
        return 1 + max(depth(kind.of), *(depth(item) for _, item in kind.more))
    if kind.tag in ("seq", "map"):
        return 1 + depth(kind.of)
    if kind.tag in ("tup", "mods"):
        return 1 + max(map(depth, kind.of), default=0)
    return 0


def is_tensor(kind: Kind) -> bool:
    """Tell whether a value is a tensor that may be on the device."""
    return kind.tag in _TENSORS


def is_host(kind: Kind) -> bool:
    """Tell whether a value is on the host, with all that is in it; tensors in host memory included."""
    if kind.tag in _HOSTS or kind.tag == "cpu":
        return True
    if kind.tag in ("seq", "map"):
        return kind.of.tag != "bottom" and is_host(kind.of)
    return kind.tag == "tup" and all(map(is_host, kind.of))


def holds_tensor(kind: Kind) -> bool:
    """Tell whether a value is, or contains, a tensor that may be on the device."""
    if kind.tag in _TENSORS:
        return True
    if kind.tag in ("seq", "map"):
        return holds_tensor(kind.of)
    return kind.tag == "tup" and any(map(holds_tensor, kind.of))


def on_device(kind: Kind) -> Kind:
    """Return the kind of a value after the tensors in it were brought to the device."""
    if kind.tag == "cpu":
        return TENSOR
    if kind.tag == "seq":
        return Kind("seq", on_device(kind.of), kind.more)
    if kind.tag == "map":
        return Kind("map", on_device(kind.of), tuple((name, on_device(item)) for name, item in kind.more))
    return tup(tuple(map(on_device, kind.of))) if kind.tag == "tup" else kind


def external_instance(dotted: str) -> Kind:
    """An instance of a class outside the program; loaders of other packages give what torch's do."""
    return Kind("inst", LOADER if dotted.endswith("DataLoader") else dotted)


def element(kind: Kind) -> Kind:
    """Return the kind of a value's items."""
    if kind.tag == "seq":
        return UNKNOWN if kind.of.tag == "bottom" else kind.of
    if kind.tag == "tup":
        return join_all(kind.of) if kind.of else UNKNOWN
    if kind.tag in _TENSORS or kind.tag == "cpu":
        return kind
    if kind.tag == "mods":
        return one_module(kind)
    if kind.tag == "inst" and kind.of in (LOADER, PREPARED):
        return CPU if kind.of == LOADER else TENSOR
    return HOST if kind.tag in _HOSTS or kind.tag == "map" else UNKNOWN


def join_all(kinds: Any) -> Kind:
    """The join of several kinds."""
    result = BOTTOM
    for kind in kinds:
        result = join(result, kind)
    return result


def join(left: Kind, right: Kind) -> Kind:
    """Join the kinds of a value that is one or the other."""
    if left is right or left == right or right.tag == "bottom":
        return left
    if left.tag == "bottom":
        return right
    if left.tag in _TENSORS or right.tag in _TENSORS:
        return TENSOR
    if left.tag == right.tag:
        return _join_same(left, right)
    if "spread" in (left.tag, right.tag):
        return Kind("spread", join(*(kind.of if kind.tag == "spread" else kind for kind in (left, right))))
    for one, other in ((left, right), (right, left)):
        if one.tag == "inst" and one.of.startswith("torch.") and other.tag in ("obj", "mods"):
            return other
        if (one.tag == "unknown" and _leads(other)) or (one.tag == "ext" and other.tag in ("cls", "fn")):
            return other  # what it may be is followed, whatever else it may be
    # None beside a value of some kind says nothing against the kind.
    for one, other in ((left, right), (right, left)):
        if one.tag in _HOSTS and other.tag in (
            "seq",
            "tup",
            "map",
            "obj",
            "fn",
            "stream",
            "event",
            "cpu",
            "inst",
            "mods",
            "cls",
            "partial",
        ):
            return other
        if one.tag in _HOSTS and other.tag in _HOSTS:
            return HOST
        if one.tag == "seq" and other.tag == "tup":
            return seq(join(one.of, join_all(other.of)))
    return UNKNOWN


def _leads(kind: Kind) -> bool:
    """Tell whether something is called, or keeps what is, as far as it is known."""
    return kind.tag in _CALLED or (kind.tag in ("seq", "map") and kind.of.tag in _CALLED)


def _join_same(left: Kind, right: Kind) -> Kind:
    if left.tag == "seq":
        return (as_set if left.more and right.more else seq)(join(left.of, right.of))
    if left.tag == "map":
        return mapping(join(left.of, right.of), _join_keys(left, right))
    if left.tag == "tup":
        if len(left.of) == len(right.of):
            return tup(tuple(map(join, left.of, right.of)))
        return seq(join_all((*left.of, *right.of)))
    if left.tag == "fn":
        # A function inside a function is made anew whenever that runs: it is the same one.
        return Kind("fn", tuple({item[:2]: item for item in (*right.of, *left.of)}.values()))
    if left.tag in ("obj", "cls"):
        return Kind(left.tag, tuple(dict.fromkeys((*left.of, *right.of))))
    if left.tag == "mods":
        return modules((*left.of, *right.of))
    if left.tag == "spread":
        return Kind("spread", join(left.of, right.of))
    if left.tag == "ext":
        return _either_function(left.of, right.of)
    if left.tag == "inst" and left.of.startswith("torch.nn.") and right.of.startswith("torch.nn."):
        return Kind("inst", "torch.nn.Module")
    if left.tag == "inst" and left.of.startswith(DISTRIBUTIONS) and right.of.startswith(DISTRIBUTIONS):
        return left if left.of.endswith(DRAWN) else right
    if left.tag in _HOSTS:
        return HOST if left.tag == "text" else Kind(left.tag, None)
    return UNKNOWN


def _either_function(left: str, right: str) -> Kind:
    """One of two functions of torch, or of two classes of its modules; what may wait does."""
    parts = [name.rpartition(".")[::2] for name in (left, right)]
    if all(head.startswith("torch.nn") and name[:1].isupper() for head, name in parts):
        return Kind("ext", "torch.nn.Module")
    if not all(head in _FUNCTIONS and name[:1].islower() for head, name in parts):
        return UNKNOWN
    waits = right in CHECKED or parts[1][1] in ANSWERS or parts[1][1] in SHAPES
    return Kind("ext", right if waits else left)


def merged(owner: Kind, other: Kind) -> Kind:
    """A dict after all of another one was put into it."""
    if other.tag != "map":
        return put(owner, UNKNOWN) or UNKNOWN
    if not other.more:
        return put(owner, other.of) or UNKNOWN
    return mapping(join(owner.of, other.of), dict((*owner.more, *other.more)))


def _join_keys(left: Kind, right: Kind) -> dict[str, Kind]:
    """Join the single keys of two dicts; of one with others, all may be anything."""
    found: dict[str, Kind] = {}
    for one, other in ((left, right), (right, left)):
        there = dict(other.more)
        rest = BOTTOM if other.of == join_all(there.values()) else other.of
        for name, kind in one.more:
            found[name] = join(kind, there.get(name, rest))
    return found


def put(owner: Kind, kind: Kind, *, key: Kind = HOST, is_slice: bool = False) -> Kind | None:
    """A container after something was put into it; None if that tells nothing."""
    if owner.tag == "map":
        keys = dict(owner.more)
        if key.tag == "text" and key.of is not None:
            keys[key.of] = kind
        else:
            keys = {name: join(known, kind) for name, known in keys.items()}
        return mapping(join(owner.of, kind), keys)
    if owner.tag == "seq":
        return (as_set if owner.more else seq)(join(owner.of, element(kind) if is_slice else kind))
    return None
