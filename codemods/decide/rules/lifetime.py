"""Who counts references sees that a call holds what a closure only read."""

from __future__ import annotations

from codemods.decide.refusals import Refusals, refuse, rule
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Lifting

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
