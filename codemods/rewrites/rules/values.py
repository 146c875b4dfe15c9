"""A helper that is more than a callee: a value with identity, attributes and a life of its own."""

from __future__ import annotations

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.rewrites.refusals import Refusals, example, refuse, rule

example(
    "value-use",
    """
 def outer():
+    state = {'calls': 0}
     def h():
-        h.calls = getattr(h, 'calls', 0) + 1
-        return h.calls
+        state['calls'] += 1
+        return state['calls']
     return h()
""",
)
rule(
    "value-use",
    "The helper is used as a value (passed, stored, returned, compared, asked for an attribute), not only "
    "called: its "
    "identity, its signature and the time at which it reads its captures would change.",
    "ask for a wrapper (--wrapper NAME): a one-line closure that forwards to the lifted function; "
    "--wrapper auto leaves one of every helper that needs it",
    """
 def outer(n):
     def h(x):
         return x + n
-    return list(map(h, [1, 2]))
+    return [h(x) for x in [1, 2]]
""",
)


def only_called(lifting: Lifting, helper: Helper) -> Refusals:
    """Every use of the name is the callee of a call."""
    for use in lifting.analysis.uses(helper):
        if use.attribute is not None:
            yield refuse(
                "value-use",
                use.node,
                f"attribute {use.attribute} of {helper.name} is used here",
                "keep the state in a variable of the outer function",
            )
        if use.call is None:
            yield refuse("value-use", use.node, f"{helper.name} is used as a value here")
