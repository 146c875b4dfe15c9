"""Why a loop can't become a method of a class in another file: the refusal codes."""

from __future__ import annotations

from codemods.decide.refusals import rule

rule(
    "loop-function",
    "The loop's function is a method, a nested function, a generator, a coroutine, or has type parameters.",
    "give the loop a plain function at module level",
    refused="""
#% loop
def train(n):
    for i in range(n):
        yield i
""",
    lifted="""
#% loop
def train(n):
    found = []
    for i in range(n):
        found.append(i)
    return found
""",
)
rule(
    "loop-frame",
    "The loop's method is one more frame on the stack, and the file asks how deep that is: it sets the "
    "recursion limit, or meets it.",
    "keep what counts frames in another file",
    refused="""
#% loop
def train(n):
    depth = 0
    for i in range(1):
        try:
            depth = 1 + train(n)
        except RecursionError:
            depth = 0
    return depth
""",
    lifted="""
#% loop
def train(n):
    depth = 0
    for i in range(1):
        if n > 0:
            depth = 1 + train(n - 1)
    return depth
""",
)
rule(
    "loop-return",
    "The loop returns from the function, and statements follow it that must then not run.",
    "assign the value and break, or move what follows into the loop's else branch",
    refused="""
#% loop
def train(n):
    for i in range(n):
        if i == 3:
            return 'early'
    return 'late'
""",
    lifted="""
#% loop
def train(n):
    found = 'late'
    for i in range(n):
        if i == 3:
            found = 'early'
            break
    return found
""",
)
rule(
    "loop-maybe-unbound",
    "A variable may be unbound where the loop begins or ends, and is read after that.",
    "bind the variable before the loop, on every path",
    refused="""
#% loop
def train(n):
    for i in range(n):
        last = i
    return last
""",
    lifted="""
#% loop
def train(n):
    last = None
    for i in range(n):
        last = i
    return last
""",
)
rule(
    "loop-shared-variable",
    "A nested function shares a variable with the function, and one of them binds it: the loop would have a "
    "variable of its own.",
    "keep the value in an object that both use, or lift the nested function first",
    refused="""
#% loop
def train(n):
    total = 0
    def show():
        return total
    for i in range(n):
        total += i
        print(show())
""",
    lifted="""
#% loop
def train(n):
    total = [0]
    def show():
        return total[0]
    for i in range(n):
        total[0] += i
        print(show())
""",
)
rule(
    "loop-class",
    "The loop defines a class, whose module and qualified name would change.",
    "define the class at module level",
    refused="""
#% loop
def train(n):
    for i in range(n):
        class Step:
            index = i
        print(Step.__name__)
""",
    lifted="""
#% loop
class Step:
    index = 0
def train(n):
    for i in range(n):
        print(Step.__name__)
""",
)
rule(
    "loop-global",
    "The loop declares or assigns a global of its module.",
    "keep the state in an object",
    refused="""
#% loop
count = 0
def train(n):
    global count
    for i in range(n):
        count += 1
""",
    lifted="""
#% loop
counts = {'n': 0}
def train(n):
    for i in range(n):
        counts['n'] += 1
""",
)
rule(
    "loop-unreadable-name",
    "The loop uses a name that means something else inside a class: a private name (__x), super() or "
    "__class__.",
    "give the name a single underscore",
    refused="""
#% loop
def train(n):
    __total = 0
    for i in range(n):
        __total += i
    return __total
""",
    lifted="""
#% loop
def train(n):
    _total = 0
    for i in range(n):
        _total += i
    return _total
""",
)
rule(
    "loop-module",
    "The loop uses something that differs from module to module: __name__, globals(), warnings.warn, a star "
    "import, a name that is bound nowhere in the file, or where a function was made.",
    "get the value before the loop",
    refused="""
#% loop
def train(n):
    for i in range(n):
        print(__name__)
""",
    lifted="""
#% loop
def train(n):
    here = __name__
    for i in range(n):
        print(here)
""",
)
rule(
    "loop-lifetime",
    "The loop deletes a variable of the setup, or the file has finalizers or weak references: what the setup "
    "made lives as long as the method runs, and what the loop made no longer than that.",
    "make the object inside the loop, or keep what watches lifetimes in another file",
    refused="""
#% loop
def train(n):
    warm = [0] * n
    for i in range(n):
        if i == 1:
            del warm
        print(i)
""",
    lifted={"del warm": "warm.clear()"},
)
