"""Programs with a main loop: those that are carried out, and those that are refused, with the code."""

TAKEN = {
    "accumulate": """
def train(n):
    total = 0
    for i in range(n):
        total += i
        print(i)
    return total
""",
    "several_names_come_back": """
def train(n, *rest, step=2, **more):
    low, high = 9, 0
    names = []
    while n > 0:
        n -= step
        low, high = min(low, n), max(high, n)
        names.append((n, rest, more))
    low -= 1
    return low, high, n, names
""",
    "nothing_follows": """
def train(n):
    seen = []
    for i in range(n):
        if i == 2:
            return seen
        seen.append(i)
""",
    "endless_until_return": """
def train(n):
    i = 0
    while True:
        i += 1
        if i > n:
            return i
""",
    "else_branch_and_continue": """
def train(n):
    found = None
    for i in range(n):
        if i % 2:
            continue
        if i == 2:
            found = i
            break
    else:
        found = 'none'
    print(found)
    return found
""",
    "inside_try": """
def train(n):
    done = []
    try:
        for i in range(n):
            done.append(10 // (3 - i))
    except ZeroDivisionError as error:
        done.append(str(error))
    finally:
        done.append('end')
    return done
""",
    "inside_with": """
import contextlib
def train(n):
    done = []
    with contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
        stack.callback(done.append, 'closed')
        for i in range(n):
            if i == 3:
                raise ValueError(i)
            done.append(i)
    return done
""",
    "exceptions_pass_through": """
def train(n):
    total = 0
    for i in range(n):
        total += i
        if total > 4:
            raise ValueError(total)
    return total
""",
    "unbound_inside_the_loop": """
def train(n):
    out = []
    for i in range(n):
        if i > 1:
            last = i
        out.append(i)
        if i > 0:
            out.append(last)
    return out
""",
    "module_functions_and_constants": """
from collections import Counter
LIMIT = 3
def scale(value):
    return value * LIMIT
class Item:
    def __init__(self, value):
        self.value = value
def train(n):
    counts = Counter()
    for i in range(n):
        counts[scale(i) % LIMIT] += Item(i).value
    return sorted(counts.items())
""",
    "defined_after_the_function": """
def train(n):
    out = []
    for i in range(n):
        out.append(later(i))
    return out
def later(value):
    return -value
""",
    "lazy_imports_in_setup_and_loop": """
def train(n):
    import math as maths
    from os.path import join
    out = []
    for i in range(n):
        from collections import deque
        out.append((maths.floor(i), join('a', str(i)), deque([i], maxlen=1)[0]))
    return out
""",
    "helper_that_stays": """
def train(n):
    scale = 2
    def grow(x):
        return x * scale
    out = []
    for i in range(n):
        out.append(grow(i) + scale)
    return out, grow(1)
""",
    "functions_made_in_the_loop": """
def train(n):
    base = 10
    made = []
    for i in range(n):
        def add(x, i=i):
            return x + base + i
        made.append(add)
        made.append(lambda x: x + i + base)
    return [f(1) for f in made]
""",
    "nonlocal_inside_the_loop": """
def train(n):
    count = 0
    out = []
    for i in range(n):
        def bump():
            nonlocal count
            count += i
            return count
        out.append(bump())
    return out
""",
    "nonlocal_that_nobody_reads": """
def train(n):
    count = 0
    for i in range(n):
        def reset():
            nonlocal count
            count = i
        reset()
    return n
""",
    "comprehensions_and_walrus": """
def train(n):
    big = 0
    rows = []
    for i in range(n):
        rows.append([y for x in range(i) if (big := x + big) for y in (x, big)])
        rows.append({k: (k, i) for k in range(i)})
        rows.append(sum(x * big for x in range(i)))
    return rows, big
""",
    "match_and_star": """
def train(n):
    out = []
    for i in range(n):
        match [i, i + 1, i + 2]:
            case [0, *rest]:
                out.append(rest)
            case [first, *_] if first > 2:
                out.append(first)
            case other:
                out.append(other)
    return out
""",
    "the_name_self": """
def train(n, self=None):
    self = self or []
    for i in range(n):
        self.append(i)
    return self
""",
    "names_that_the_target_uses": """
from enum import auto as dataclass
def Any(value):
    return value
def train(n):
    out = []
    tuple = 3
    for i in range(n):
        out.append((Any(i), tuple, dataclass is None))
    return out
""",
    "strings_and_comments_keep_their_text": '''
def train(n):
    out = []
    # Each round.
    for i in range(n):  # rounds
        text = f"""a
    {i}
"""
        out.append(text + \'\'\'
  b\'\'\')
        # The end of a round.
    # After it.
    return out
''',
    "multi_line_strings_with_expressions": """
def train(n):
    out = []
    head = f'''{n}

{[n for n in range(2)]} {(lambda: n)()}'''
    for i in range(n):
        text = f'''{i}
{[i for j in range(2)]}
{(lambda: i)()} {i:{n}}'''
        out.append(text)
    return out, f'''
{n} {head} {(lambda: n)()}'''
""",
    "tabs": "def train(n):\n\tout = []\n\tfor i in range(n):\n\t\tif i:\n\t\t\tout += [i]\n\treturn out\n",
    "loop_on_one_line": """
def train(n):
    out = []
    for i in range(n): out.append(i); out.append(-i)
    return out
""",
    "recursion": """
def train(n):
    out = [n]
    for i in range(n - 1):
        out.append(train(i))
    return out
""",
    "decorated": """
import functools
def twice(function):
    @functools.wraps(function)
    def call(n):
        return function(n), function(n + 1)
    return call
@twice
def train(n):
    '''Train.'''
    total = 0
    for i in range(n):
        total += i
    return total, train.__doc__
""",
    "annotations": """
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from decimal import Decimal
class State:
    pass
def train(n: int) -> list[State]:
    states: list[State] = []
    for i in range(n):
        item: Decimal | None = None
        states.append(item)
    return states
""",
    "evaluated_annotations": """
class State:
    pass
def train(n: int) -> list[State]:
    states: list[State] = []
    for i in range(n):
        def make(value: State = i) -> 'State':
            return value
        states.append(make())
    return states
""",
    "global_that_setup_declares": """
TOTAL = [1]
def train(n):
    def read():
        global TOTAL
        return TOTAL
    out = []
    for i in range(n):
        out.append(len(read()))
    return out
""",
    "active_exception": """
def again(n):
    for i in range(n):
        if i == 1:
            raise
    return 'no'
def train(n):
    out = []
    try:
        raise KeyError('outside')
    except KeyError:
        import sys
        out.append(sys.exc_info()[1])
    for i in range(n):
        try:
            raise ValueError(i)
        except ValueError as error:
            out.append(repr(error.__context__))
    return [repr(o) for o in out]
""",
    "first_of_several_bindings": """
def train(n):
    if n > 2:
        mode = 'long'
    else:
        mode = 'short'
    for i in range(n):
        mode = mode + str(i)
    return mode
""",
    "name_used_before_but_not_carried": """
def train(n):
    out = []
    if n > 2:
        item = 'setup'
        out.append(item)
    for item in range(n):
        out.append(item)
    item = 'tail'
    return out, item
""",
    "tail_reads_after_binding": """
def train(n):
    out = []
    for i in range(n):
        value = i
        out.append(value)
    value = 'after'
    return out, value
""",
    "the_log_and_warnings_name_the_method": """
import logging
import warnings
log = logging.getLogger(__name__)
STYLE = '%(funcName)s %(module)s'
def note(i):
    warnings.warn(f'step {i}', RuntimeWarning, stacklevel=2)
def train(n):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for i in range(n):
            log.debug('%d', i)
            warnings.warn('slow')
            note(i)
    return n
""",
    "functions_of_the_file_in_comprehensions": """
def make(i):
    return i * 3
def keep(i):
    return i != 6
def train(n):
    total = 0
    for step in range(n):
        rows = [make(i) for i in range(3) if keep(make(i))]
        more = {make(i): sum(make(j) for j in range(i)) for i in range(step)}
        total += sum(rows) + sum(more.values()) + max(map(lambda i: make(i + step), rows))
    return total
""",
    "tail_is_unreachable": """
def train(n):
    for i in range(n):
        print(i)
    raise ValueError(n)
    return n
""",
}

REFUSED = {
    "entries_of_a_traceback": (
        "introspection",
        "import traceback\ndef names(tb):\n    return [f.name for f in traceback.extract_tb(tb)]\n"
        "def train(n):\n    for i in range(n):\n        print(i)\n",
    ),
    "generator": ("not-understood", "def train(n):\n    for i in range(n):\n        yield i\n"),
    "coroutine": (
        "not-understood",
        "async def train(n):\n    for i in range(n):\n        await i\n",
    ),
    "early_return": (
        "loop-return",
        "def train(n):\n    for i in range(n):\n        return i\n    return 9\n",
    ),
    "loop_variable_after_it": (
        "maybe-unbound",
        "def train(n):\n    for i in range(n):\n        pass\n    return i\n",
    ),
    "bound_on_one_path_of_setup": (
        "maybe-unbound",
        "def train(n):\n    if n:\n        k = 1\n    for i in range(n):\n        print(k)\n",
    ),
    "bound_after_only": (
        "maybe-unbound",
        "def train(n):\n    for i in range(n):\n        print(k)\n    k = 1\n    return k\n",
    ),
    "read_before_the_loop_binds_it": (
        "maybe-unbound",
        "i = 5\ndef train(n):\n    print(i)\n    for i in range(n):\n        pass\n",
    ),
    "deleted_and_read": (
        "maybe-unbound",
        "def train(n):\n    k = 1\n    for i in range(n):\n        del k\n        break\n    return k\n",
    ),
    "exception_name": (
        "maybe-unbound",
        "def train(n):\n    e = 0\n    for i in range(n):\n        try:\n            1 / 0\n"
        "        except ZeroDivisionError as e:\n            pass\n    return e\n",
    ),
    "helper_reads_what_the_loop_binds": (
        "nonlocal-write",
        "def train(n):\n    k = 0\n    show = lambda: k\n    for i in range(n):\n        k += 1\n"
        "        print(show())\n",
    ),
    "helper_binds_what_the_loop_reads": (
        "nonlocal-write",
        "def train(n):\n    k = 0\n    def bump():\n        nonlocal k\n        k += 1\n"
        "    for i in range(n):\n        bump()\n        print(k)\n",
    ),
    "closure_of_the_loop_sees_the_tail": (
        "nonlocal-write",
        "def train(n):\n    f = None\n    k = 1\n    for i in range(n):\n        f = lambda: k\n"
        "    k = 2\n    return f and f()\n",
    ),
    "closure_of_the_loop_binds_for_the_tail": (
        "nonlocal-write",
        "def train(n):\n    k = 1\n    fs = []\n    for i in range(n):\n        def f():\n"
        "            nonlocal k\n            k += 1\n        fs.append(f)\n"
        "    [f() for f in fs]\n    return k\n",
    ),
    "generator_read_later": (
        "nonlocal-write",
        "def train(n):\n    g = ()\n    k = 1\n    for i in range(n):\n        g = (k for _ in 'ab')\n"
        "    k = 2\n    return list(g)\n",
    ),
    "class_statement": (
        "module-identity",
        "def train(n):\n    for i in range(n):\n        class K:\n            pass\n        print(K)\n",
    ),
    "global_statement": (
        "global-write",
        "k = 0\ndef train(n):\n    for i in range(n):\n        global k\n        k += 1\n",
    ),
    "global_of_setup": (
        "global-write",
        "k = 0\ndef train(n):\n    global k\n    for i in range(n):\n        k += 1\n",
    ),
    "global_rebound_by_another": (
        "global-rebound",
        "k = 0\ndef bump():\n    global k\n    k += 1\ndef train(n):\n    for i in range(n):\n"
        "        bump()\n        print(k)\n",
    ),
    "private_name": (
        "class-cell",
        "def train(n):\n    for i in range(n):\n        print(i.__real)\n",
    ),
    "zero_argument_super": (
        "class-cell",
        "def train(n):\n    for i in range(n):\n        super()\n",
    ),
    "class_cell": (
        "class-cell",
        "def train(n):\n    for i in range(n):\n        print(__class__)\n",
    ),
    "module_name": ("module-identity", "def train(n):\n    for i in range(n):\n        print(__file__)\n"),
    "star_import": (
        "module-identity",
        "from os.path import *\ndef train(n):\n    for i in range(n):\n        print(join('a', 'b'))\n",
    ),
    "unknown_name": ("module-identity", "def train(n):\n    for i in range(n):\n        print(injected)\n"),
    "globals_call": (
        "module-identity",
        "k = 1\ndef train(n):\n    for i in range(n):\n        print(globals()['k'])\n",
    ),
    "locals_in_the_tail": (
        "dynamic-names",
        "def train(n):\n    for i in range(n):\n        pass\n    return sorted(locals())\n",
    ),
    "eval_in_the_setup": (
        "dynamic-names",
        "def train(n):\n    k = eval('n + 1')\n    for i in range(k):\n        print(i)\n",
    ),
    "deleted_inside_the_loop": (
        "lifetimes",
        "def train(n):\n    spare = 3\n    for i in range(n):\n        if i == 2:\n            del spare\n",
    ),
    "finalizer": (
        "lifetimes",
        "class K:\n    def __del__(self):\n        print('gone')\ndef train(n):\n    k = K()\n"
        "    for i in range(n):\n        k = i\n",
    ),
    "weak_reference": (
        "lifetimes",
        "from weakref import ref\ndef train(n):\n    for i in range(n):\n        k = ref(train)\n",
    ),
    "reserved_field": (
        "class-cell",
        "def train(n):\n    __init__ = 3\n    for i in range(n):\n        print(__init__)\n",
    ),
    "frames": (
        "introspection",
        "import sys\ndef train(n):\n    for i in range(n):\n        print(sys._getframe().f_code.co_name)\n",
    ),
    "qualified_names": (
        "module-identity",
        "def train(n):\n    for i in range(n):\n        f = lambda: 0\n        print(f.__qualname__)\n",
    ),
    "compiled": (
        "introspection",
        "import numba\n@numba.njit\ndef train(n):\n    k = 0\n    for i in range(n):\n        k += i\n"
        "    return k\n",
    ),
}
