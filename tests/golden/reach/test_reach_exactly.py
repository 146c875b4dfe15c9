"""Every line that runs is noted, and no other, however a program runs it; the program does what it did."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from golden.reach.reached import Reached, read_reached
from golden.record import find_run, record_run

RUN = """
command = ["python", "main.py", "{out}"]
budget = 2.0

[observe]
steps = false

[events]
files = "*.jsonl"
"""
END = """
import pathlib, sys
pathlib.Path(sys.argv[1], "log.jsonl").write_text("{}")
"""


def reached(root: Path, files: dict[str, str], of: list[str]) -> Reached:
    """Record a program of some files; the lines of those in ``of`` that ran."""
    for name, text in {**files, "golden/runs/fit.toml": RUN}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    record_run(find_run("fit", root), root=root, out=root / "trace", reach=of)
    found = read_reached(root / "trace")
    assert found is not None
    return found


def assert_marked(found: Reached, name: str, text: str) -> None:
    """Lines that end with `# ran` ran, those that end with `# never` did not."""
    lines = {end: marked(text, f"# {end}") for end in ("ran", "never")}
    assert lines["ran"]
    assert lines["ran"] - found.files[name] == set()
    assert lines["never"] & found.files[name] == set()


def marked(text: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(text.splitlines(), 1) if line.endswith(mark)}


WORK = """
import sys, threading

def late(n):
    for i in range(n):
        if i < n - 1:
            x = i
        elif i == n:
            x = None  # never
        else:
            x = -1  # ran
    while True:
        n -= 1
        if n < 0:
            break  # ran
    return x

def branch(flag):
    if flag:
        return 1  # ran
    return 0  # ran

def one_side(flag):
    if flag:
        return 1  # never
    return 0  # ran

def deep(n):
    if n > 50:
        return branch(False)  # ran
    result = deep(n + 1)
    return result  # ran

def endless(n):
    try:
        return endless(n + 1)
    except RecursionError:
        return n  # ran

def numbers():
    got = None
    while True:
        try:
            got = yield got
            if got == 7:
                got = "seven"  # ran
            elif got == 8:
                got = "eight"  # never
        except ValueError:
            got = "thrown"  # ran
        except KeyError:
            got = "never"  # never
        finally:
            got = got or 0

def outer():
    result = yield from numbers()
    return result  # never

async def waits(gate, first):
    if first:
        await gate.wait()
        return "first"  # ran
    gate.set()
    async for n in rows():
        if n == 2:
            return n  # ran
    return None  # never

async def rows():
    for i in range(5):
        yield i
        if i == 3:
            return  # never

def handled(x):
    try:
        return 1 / x  # ran
    except ZeroDivisionError:
        return 0  # ran
    finally:
        x = None  # ran

def matched(x):
    match x:
        case {"a": int(n)} if n > 3:
            return n  # ran
        case [a, *rest]:
            return rest  # ran
        case _:
            return None  # never

def in_a_thread(which, barrier):
    barrier.wait()
    for i in range(2000):
        if i == 1999 and which == 3:
            return "late"  # ran
    return "end"  # ran

def copied(flag):
    if flag:
        return 1  # ran
    return 0  # ran

def swapped(flag):
    if flag:
        return 1  # ran
    return 0  # never

def forked(flag):
    if flag:
        return 1  # ran
    return 0  # ran

def sent(flag):
    if flag:
        return 1  # ran
    return 0  # never

class Held:
    size = 3  # ran
    def __init__(self):
        self.size = [n
                     for n in range(9)
                     if n > 7
                     and branch(n)]  # ran
    @property
    def never(self):
        return self.size  # never
    key = (lambda n:
           n + 1)  # ran
    not_called = (lambda n:
                  n + 1
                  )
"""
MANY = "".join(
    f"    if n > {i}:\n        x += {1000 + i}  # {'ran' if i < 350 else 'never'}\n" for i in range(400)
)
WORK += f"\ndef long(n):\n    x = 0\n{MANY}    return x\n"
AGAIN = """
def first(flag):
    if flag:
        return 1  # ran
    return 0  # ran
def second():
    return 0  # ran
def third():
    return 0  # never
"""
MAIN = (
    """
import asyncio, importlib, os, pickle, runpy, subprocess, sys, threading, types
import work
from work import *

assert late(40) == -1
branch(False), branch(True), one_side(False), deep(0), endless(0)
a, b = numbers(), outer()
next(a), next(b), a.send(1), b.send(1)
assert b.send(7) == "seven" and a.throw(ValueError) == "thrown"
a.close(), b.close()

async def both():
    gate = asyncio.Event()
    return await asyncio.gather(waits(gate, True), waits(gate, False))
assert asyncio.run(both()) == ["first", 2]
assert handled(1) == 1 and handled(0) == 0 and matched([1, 2]) == [2] and matched({"a": 4}) == 4
barrier = threading.Barrier(4)
threads = [threading.Thread(target=in_a_thread, args=(n, barrier)) for n in range(4)]
[t.start() for t in threads], [t.join() for t in threads]

# Code that the program copies, before and after the original ran, and hands to others.
copied(True)
other = types.FunctionType(copied.__code__.replace(co_name="other"), globals())
del work.copied, copied
import gc; gc.collect()
other(False)
def plain(flag): pass
plain.__code__ = swapped.__code__
plain(True)
# As cloudpickle does it.
fields = "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names varnames filename"
fields += " name qualname firstlineno linetable exceptiontable freevars cellvars"
values = [getattr(sent.__code__, "co_" + field) for field in fields.split()]
reader = "import pickle, sys, types; code = types.CodeType(*pickle.load(sys.stdin.buffer))"
reader += "; types.FunctionType(code, {})(True)"
subprocess.run([sys.executable, "-c", reader], input=pickle.dumps(values), check=True)

# A process that ran half of a function before.
forked(False)
pid = os.fork()
if pid == 0:
    forked(True)
    os._exit(0)
os.wait()

# Loaded again, and by other names.
import again
again.first(False)
importlib.reload(again).first(True)
runpy.run_path(again.__file__)["second"]()
assert Held().size == [8] and Held.key(1) == 2 and long(350) > 0
assert {copied_code: 1}[copied_code] == 1 if (copied_code := branch.__code__) else None
"""
    + END
)


def test_however_a_line_runs_it_is_noted(tmp_path: Path) -> None:
    files = {"work.py": WORK, "again.py": AGAIN, "main.py": MAIN}
    found = reached(tmp_path, files, ["work.py", "again.py", "main.py"])
    assert found.problem == ""
    assert_marked(found, "work.py", WORK)
    assert_marked(found, "again.py", AGAIN)
    assert MAIN.splitlines().index("if pid == 0:") + 2 in found.files["main.py"]


COMPILED = """
def branch(flag):
    if flag:
        return 1  # ran
    return 0  # ran
def before(flag):
    if flag:
        return 1
    return 0
"""
BY_ITSELF = (
    """
import sys, threading
def follow(frame, event, _):
    return follow
BEFORE
names = {}
exec(compile(open("work.py").read(), "work.py", "exec"), names)
names["branch"](False)
AFTER
thread = threading.Thread(target=names["branch"], args=(True,))
thread.start()
thread.join()
"""
    + END
)
OTHERS = {
    "nobody else": ("", "", ""),
    "a tracer": ("", "sys.settrace(follow)", "a trace function of its own"),
    "a profiler": ("", "sys.setprofile(lambda *_: None)", ""),
    "a process that is killed": (
        "",
        "import os, signal; os.fork() or os.kill(os.getpid(), signal.SIGKILL)",
        "was ended before it said what ran",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_code_that_the_program_compiles_itself_is_noted_or_said_not_to_be(name: str, tmp_path: Path) -> None:
    before, after, problem = OTHERS[name]
    main = BY_ITSELF.replace("BEFORE", before).replace("AFTER", after)
    found = reached(tmp_path, {"work.py": COMPILED, "main.py": main}, ["work.py"])
    if sys.version_info >= (3, 12) or not problem:
        assert found.problem == ""
        assert_marked(found, "work.py", COMPILED)
    else:
        assert problem in found.problem
