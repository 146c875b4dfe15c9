"""Codes for captures that can't be collected in a context object."""

from __future__ import annotations

from codemods.decide.refusals import rule

rule(
    "context-rebound",
    "A context object would freeze the capture: there is no place in the outer function after which it is "
    "always bound and never rebound.",
    "leave out --captures context, or give the later value another name",
    """
 #% captures context
 def outer(flag):
     n = 1
+    if flag:
+        n = 2
     def h(x):
         return x + n
     first = h(1)
-    if flag:
-        n = 2
-        first += h(1)
-    n = 3
-    return first + h(3), [n := k for k in (1, 2)]
+    return first + h(3)
""",
)
rule(
    "context-late",
    "The helper is called before all captures of the context object that it would share are settled.",
    "lift this helper by itself (--helper), or without --captures context",
    """
 #% captures context
 def outer(n):
+    m = n + 1
     def g(x):
         return x + n
-    first = g(1)
-    m = first
     def h(x):
         return x * m
-    return h(2)
+    return h(g(1))
""",
)
rule(
    "context-text",
    "A read of the capture can't be rewritten as an attribute: an f-string prints its text, or its name "
    "would be changed inside a class.",
    "write the name out in the f-string, or leave out --captures context",
    """
 #% captures context
 def outer(n):
     def h():
-        return f'{n + 1=}'
+        return f'n + 1={n + 1}'
     return h()
""",
)
