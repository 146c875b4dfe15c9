"""Captures that nested functions write: shared variables, not values."""

from __future__ import annotations

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals, example, refuse, rule

rule(
    "nonlocal-write",
    "The helper assigns a variable of the outer function, or shares one that another function assigns.",
    "return the value and assign it in the outer function, or keep it in an object (--cell NAME)",
    """
 def outer():
-    n = 0
+    state = {'n': 0}
     def h(k):
-        nonlocal n
-        n += k
+        state['n'] += k
     h(2)
-    return n
+    return state['n']
""",
)
example(
    "nonlocal-write",
    """
 def outer():
-    n = 1
+    state = {'n': 1}
     def bump():
-        nonlocal n
-        n += 1
+        state['n'] += 1
     def h(act):
         act()
-        return n
+        return state['n']
     return h(lambda: bump())
""",
)


def no_shared_writes(lifting: Lifting, helper: Helper) -> Refusals:
    """Only the frame that owns a capture binds it."""
    tree = lifting.tree
    for owner, name in tree.declared:
        if owner is tree.module or not helper.scope.inside(owner) or helper.scope is owner:
            continue
        for binder in tree.binders.get((owner, name), []):
            if binder.scope.inside(helper.scope):
                yield refuse("nonlocal-write", binder.line, f"{name} of the outer function is assigned here")
    for name, owner in lifting.needs[helper]:
        if owner is tree.module:
            continue
        for binder in tree.binders.get((owner, name), []):
            if binder.scope.frame() is not owner:
                what = f"{name} is assigned by another function or generator here"
                yield refuse(
                    "nonlocal-write",
                    binder.line,
                    what,
                    "keep the variable in an object (box) that both functions share",
                )
