"""Calls must be able to carry new keyword arguments, and nobody may see that they hold what these are."""

from __future__ import annotations

from codemods.decide.refusals import Refusals, refuse, rule
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Lifting

rule(
    "kwargs-at-call",
    "A call passes **kwargs, or a keyword of the same name as a capture, to the helper.",
    "write the keywords out at the call",
    """
 def outer(n, opts):
     def h(x=0):
         return x + n
-    return h(**opts)
+    return h(x=opts['x'])
""",
)


def keywords_free(lifting: Lifting, helper: Helper) -> Refusals:
    """No keyword at a call or in the signature can meet a capture's."""
    needs = lifting.needs[helper]
    if not needs:
        return
    names = {name for name, _ in needs}
    for use in lifting.analysis.uses(helper):
        if use.call is None:
            continue
        for keyword in use.call.keywords:
            if keyword.arg is None or keyword.arg in names:
                what = "**kwargs" if keyword.arg is None else f"a keyword {keyword.arg}"
                yield refuse("kwargs-at-call", use.node, f"{helper.name} is called with {what} here")


_COUNTS = ("getrefcount", "get_objects", "get_referents")

rule(
    "references-counted",
    "The file counts references, or lists them: a call holds what it is passed, one reference more.",
    "keep what counts references in another file",
    """
-import sys
+import weakref
+class C:
+    pass
 def outer():
-    n = object()
+    n = C()
     def h():
-        return sys.getrefcount(n)
+        return weakref.ref(n)() is n
     return h()
""",
)


def not_counted(lifting: Lifting, helper: Helper) -> Refusals:
    """Nobody counts references to what the helper is passed."""
    tree = lifting.tree
    for name in _COUNTS if lifting.needs[helper] else ():
        if name in tree.attributes or name in tree.bound_names:
            line = tree.attributes.get(name, helper.node.lineno)
            yield refuse("references-counted", line, f"{name} is used here")
