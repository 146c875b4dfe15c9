"""Codes for variables that can't be kept in an object that functions share."""

from __future__ import annotations

from codemods.decide.refusals import rule

rule(
    "box-unbound",
    "The variable may be unbound where it is read, or is unbound somewhere; an attribute that is not there "
    "fails in another way.",
    "bind the variable first thing in the outer function, and don't delete it",
    """
 #% box h
 def outer(flag):
+    n = 0
     if flag:
-        n = 0
+        n = 1
     def h():
         nonlocal n
         n += 1
     h()
     return n
""",
)
rule(
    "box-binding",
    "The variable is bound in a way in which an attribute can't be: by :=, an import, a def or class, a "
    "pattern, or an annotation alone; or it is used in a class body.",
    "bind it by an assignment",
    """
 #% box h
 def outer():
     n = 0
     def h():
         nonlocal n
         n += 1
-    while (n := n + 1) < 5:
+    while n < 5:
+        n = n + 1
         h()
     return n
""",
)
rule(
    "box-text",
    "A use of the variable can't be rewritten as an attribute: an f-string prints its text, or its name "
    "would be changed inside a class.",
    "write the name out in the f-string",
    """
 #% box h
 def outer():
     n = 0
     def h():
         nonlocal n
         n += 1
-        return f'{abs(n)=}'
+        return f'n={abs(n)}'
     return h()
""",
)
