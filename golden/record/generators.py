"""Random generators that a program makes itself, as digests of their states.

Those of torch, numpy and Python, with the place that made them. Those made without a seed begin somewhere
else in every run: they are counted, never compared.
"""

from __future__ import annotations

import functools
import random
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import torch
import xxhash

from ..kinds.random_states import plain
from ..trace.digest import hex_digest
from .hooks import put
from .reads import is_program, place_of

_AT_MOST = 512
# Places that are named of generators without a seed.
_SHOWN = 3
# Threads that draw nothing for the program, by the package of what they run.
_HARMLESS = frozenset(("tqdm", "tensorboard", "torch", "wandb", "mlflow", "multiprocessing", "tensorboardX"))
Row = tuple[str, str, str]


class OwnGenerators:
    """Remembers every generator that is made from now on."""

    def __init__(self) -> None:
        # Without weak references, what nothing else holds is dropped at the next look.
        self._made: list[tuple[str, str, Callable[[], Any]]] = []
        self._numpy: ModuleType | None = None
        self.unseeded = 0
        self.unseeded_at: list[str] = []
        self.beyond = 0

    def install(self) -> None:
        """Listen to makers of generators. ``isinstance`` with a class that is listened to is as before."""
        torch.Generator = _listening(torch.Generator, self._made_torch, "torch")  # type: ignore[misc]
        begin: Any = random.Random.__init__

        @functools.wraps(begin)
        def observed_init(generator: Any, /, *args: Any, **kwargs: Any) -> None:
            begin(generator, *args, **kwargs)
            if not isinstance(generator, random.SystemRandom):
                self._note_seeded("python", generator, bool(args or kwargs))

        random.Random.__init__ = observed_init  # type: ignore[method-assign, assignment]
        self._find_numpy()

    def _find_numpy(self) -> None:
        numpy = sys.modules.get("numpy.random")
        if numpy is None or self._numpy is not None:
            return
        self._numpy = numpy
        made = functools.partial(self._note_seeded, "numpy")
        default: Any = numpy.default_rng

        @functools.wraps(default)
        def observed_default(*args: Any, **kwargs: Any) -> Any:
            found = default(*args, **kwargs)
            given = next(iter((*args, *kwargs.values())), None)
            # A generator that is handed in comes out again, and is known.
            if found is not given:
                made(found, _is_seeded(args, kwargs))
            return found

        put(numpy, "default_rng", observed_default)
        for name in ("Generator", "RandomState"):
            setattr(numpy, name, _listening(getattr(numpy, name), made, "numpy.random"))

    def _made_torch(self, generator: torch.Generator, seeded: bool) -> None:
        # Without a seed it begins with torch's own, the same in every run.
        self._note("torch", generator)

    def _note_seeded(self, kind: str, generator: Any, seeded: bool) -> None:
        if seeded:
            self._note(kind, generator)
        else:
            self._note_unseeded(sys._getframe(2))

    def _note_unseeded(self, maker: FrameType) -> None:
        # Libraries make their own, for names of temporary files and of symbols: no run depends on them.
        if is_program(maker):
            self.unseeded += 1
            place = place_of(maker)
            if len(self.unseeded_at) < _SHOWN and place not in self.unseeded_at:
                self.unseeded_at.append(place)

    def _note(self, kind: str, generator: Any) -> None:
        place = place_of(sys._getframe(2))
        if not place:
            return
        if len(self._made) >= _AT_MOST:
            self._made = [made for made in self._made if made[2]() is not None]
        if len(self._made) >= _AT_MOST:
            self.beyond += 1
        else:
            self._made.append((kind, place, _reference(generator)))

    def rows(self) -> list[Row]:
        """Return kind, place and digest of state of every one that lives, in the order of their making."""
        self._find_numpy()
        alive = [(kind, place, made, made()) for kind, place, made in self._made]
        self._made = [(kind, place, made) for kind, place, made, found in alive if found is not None]
        return [(kind, place, _digest(kind, found)) for kind, place, _, found in alive if found is not None]


def _reference(generator: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(generator)
    except TypeError:
        # Those of numpy, and of torch before 2.6.
        return _Held(generator)


class _Held:
    """A strong reference that says None once nobody else holds its object."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __call__(self) -> Any:
        # This attribute, and the argument of getrefcount.
        return None if sys.getrefcount(self._held) <= 2 else self._held


def _digest(kind: str, generator: Any) -> str:
    if kind == "torch":
        state = generator.get_state()
        return hex_digest(state)[:16]
    if kind == "python":
        return _text_digest(generator.getstate())
    state = (
        generator.get_state(legacy=False)
        if hasattr(generator, "get_state")
        else generator.bit_generator.state
    )
    return _text_digest(plain(state))


def _text_digest(state: Any) -> str:
    return xxhash.xxh3_64_hexdigest(repr(state).encode())


def _listening(kind: Any, made: Callable[[Any, bool], None], module: str) -> Any:
    """Return a class that makes objects of ``kind`` and says so; of it are all objects of ``kind``.

    It takes the place of ``kind`` in ``module``, where what is pickled finds it by its name.
    """

    class Listening(type(kind)):  # type: ignore[misc]
        def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
            # One that a program derives is made as it says.
            found = kind(*args, **kwargs) if cls is proxy else super().__call__(*args, **kwargs)
            made(found, _is_seeded(args, kwargs))
            return found

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, kind) if cls is proxy else super().__instancecheck__(instance)

        def __subclasscheck__(cls, other: Any) -> bool:
            return issubclass(other, kind) if cls is proxy else super().__subclasscheck__(other)

    proxy = Listening(
        kind.__name__,
        (kind,),
        {"__doc__": kind.__doc__, "__module__": module, "__qualname__": kind.__qualname__},
    )
    return proxy


def _is_seeded(args: Any, kwargs: Any) -> bool:
    first = next(iter((*args, *kwargs.values())), None)
    if first is None:
        return False
    sequence = first if hasattr(first, "entropy") else getattr(first, "seed_seq", None)
    entropy = getattr(sequence, "entropy", None)
    # What the system gives has 128 bits, a seed that a person gives has fewer.
    return not isinstance(entropy, int) or entropy.bit_length() < 96


def other_threads() -> bool:
    """Tell whether threads of the program run beside the main one: they may draw at any time."""
    for thread in threading.enumerate():
        target = getattr(thread, "_target", None)
        module = getattr(target, "__module__", None) or type(thread).__module__
        if thread is not threading.main_thread() and str(module).partition(".")[0] not in _HARMLESS:
            return True
    return False
