"""What every generated program begins with: printing, fuel that ends it, things to call and enter; and what
some have besides: annotations, and a look at frames or functions.
"""

PRELUDE = """\
fuel = [0]
class Spent(BaseException): pass
class Note(Exception): pass
def show(tag, *values):
    fuel[0] -= 1
    if fuel[0] < 0: raise Spent
    print(tag, *[value if isinstance(value, (int, str)) else type(value).__name__ for value in values])
    return values[0] if values else 0
def call(f, *arguments):
    try: return f(*arguments)
    except (TypeError, NameError) as error: return show('call', type(error).__name__)
def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration as stop: return stop.value
class Pause:
    def __await__(self): yield
class Guard:
    def __init__(self, value, swallow=False): self.value, self.swallow = value, swallow
    def __enter__(self): return show('enter', self.value)
    def __exit__(self, kind, *_): return bool(show('exit', kind.__name__ if kind else 0) and self.swallow)
def mark(f): show('mark'); return f
def plain(value):
    if isinstance(value, (list, tuple)): return [plain(item) for item in value]
    return value if isinstance(value, (int, str)) else type(value).__name__
def attempt(f, *arguments):
    fuel[0] = 150
    try:
        result = f(*arguments)
        if hasattr(result, 'send'): result = list(result) if hasattr(result, '__next__') else drive(result)
        print('returned', plain(result))
    except BaseException as error: print('raised', type(error).__name__)
"""

HINTS_PRELUDE = """\
import types
from typing import Dict, Optional
class Strict(type):
    def __or__(cls, other): return missing
class Odd(metaclass=Strict): pass
Both = Optional[Note]
"""
HINTS = (
    "int",
    "'whatever'",
    "Note",
    "Note | None",
    "Both | int",
    "Optional[Both]",
    "list[Note, ...]",
    "Dict[str, Both]",
    "types.ModuleType | None",
    "list[types.CodeType]",
    "n",
    "Odd | None",
    "Dict[Note]",
    "types.Missing",
)
"""Annotations of parameters, from surely harmless ones to such as fail."""
HARMLESS_HINTS = HINTS[:10]

LOOKS = (
    "def look(f=None): return sum(map(ord, sys._getframe(1).f_globals['__name__']))",
    "def look(f=None): return f.__code__.co_argcount + len(f.__code__.co_name) if f else 0",
    "def look(f=None): return len(f.__code__.co_varnames[:f.__code__.co_argcount]) if f else 0",
    "def look(f=None): return len(f.__closure__ or ()) if f else 0",
    "def look(f=None): return len(f.__code__.co_cellvars + f.__code__.co_freevars) if f else 0",
    "def look(f=None): return len(sys._getframe(1).f_locals)",
    "def look(f=None): return len(sys._getframe(1).f_code.co_name)",
    "def look(f=None): frame = sys._getframe(1); return len(frame.f_back.f_code.co_filename) if frame else 0",
)
"""Functions that look at the frame of their caller, or at a function that they are given."""
