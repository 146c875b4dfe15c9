"""The assumptions: what a file's text does not show, and a user may accept by its code (`--accept CODE`)."""

from __future__ import annotations

from collections.abc import Mapping

from codemods.program.source import Unusable
from codemods.rewrites.refusals import RULES, Accepted, all_rules, assumption, assumptions

assumption(
    "introspection",
    "Nothing looks at frames, code objects, closures, source text, the depth of the stack, or at what "
    "functions say of their names and modules.",
    "keep the inspection in another module",
)
assumption(
    "dynamic-names",
    "Nothing asks for variables or module globals by names that only a run tells: locals(), vars(), dir(), "
    "globals(), eval(), exec(), a module's __dict__.",
    "call locals() before the first loop and nested function, pass an explicit dict to eval or exec, or name "
    "the variables",
)
assumption(
    "star-import",
    "No star import after the function brings a name that the change adds or reads.",
    "name what is imported",
)
assumption(
    "annotations-evaluated",
    "Evaluating the helper's annotations at module level does the same as evaluating them at each call.",
    "add `from __future__ import annotations` to the file",
)
assumption(
    "import-effects",
    "Loading the packages around the new file earlier than now does nothing that the program sees.",
    "choose a file outside of that package, or import the package in the source",
    """
-#% file parts/__init__.py print("loaded")
+#% file parts/__init__.py LOADED = True
 #% to parts/lifted.py
 def outer(n):
     def h(x):
         return x + n
     return h(1)
 print(outer(2))
""",
)
assumption(
    "loaded-otherwise",
    "The new file is there and importable wherever the source is loaded.",
    "choose a file that travels with the source, or add it to the list that has the source",
    """
-#% file setup.py SETUP = {"py_modules": ["program"]}
+#% file setup.py SETUP = {"py_modules": ["program", "lifted"]}
 #% to lifted.py
 def outer(n):
     def h(x):
         return x + n
     return h(1)
 print(outer(2))
""",
)
assumption(
    "lifetimes",
    "Nothing sees how long, or how often, an object is held: no weak reference, `__del__`, count of "
    "references, `ndarray.resize`, nor an exception that keeps its frames.",
    "pass the value to the helper as an argument, and delete it where no exception is held",
    """
 def outer(size):
     batch = bytearray(size)
     def h():
         return 1 // (len(batch) - 4)
     try:
         return h()
     except ZeroDivisionError as error:
-        del batch
         return str(error)
 print(outer(4))
""",
)


def accept(reasons: Mapping[str, str]) -> Accepted:
    """Accept assumptions, by code with the reason.

    Raises:
        Unusable: if a code is no assumption; the message is one line.
    """
    for code in reasons:
        known = ", ".join(assumptions())
        if code not in all_rules():
            raise Unusable(f"there is no code {code}; these can be accepted: {known}")
        if not RULES[code].assumption:
            raise Unusable(f"{code} is an exact rule and can't be accepted; these can: {known}")
    return Accepted(reasons)
