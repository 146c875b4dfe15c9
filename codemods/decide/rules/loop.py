"""Why a loop can't become a method of a class in another file: the refusal codes."""

from __future__ import annotations

from codemods.decide.refusals import rule

rule(
    "loop-function",
    "The loop's function is a method, a nested function, a generator, a coroutine, or has type parameters.",
    "give the loop a plain function at module level",
    """
 #% loop
 def train(n):
+    found = []
     for i in range(n):
-        yield i
+        found.append(i)
+    return found
""",
)
rule(
    "loop-frame",
    "The loop's method is one more frame on the stack, and the file asks how deep that is: it sets the "
    "recursion limit, or meets it.",
    "keep what counts frames in another file",
    """
 #% loop
 def train(n):
     depth = 0
     for i in range(1):
-        try:
-            depth = 1 + train(n)
-        except RecursionError:
-            depth = 0
+        if n > 0:
+            depth = 1 + train(n - 1)
     return depth
""",
)
rule(
    "loop-return",
    "The loop returns from the function, and statements follow it that must then not run.",
    "assign the value and break, or move what follows into the loop's else branch",
    """
 #% loop
 def train(n):
+    found = 'late'
     for i in range(n):
         if i == 3:
-            return 'early'
-    return 'late'
+            found = 'early'
+            break
+    return found
""",
)
rule(
    "loop-maybe-unbound",
    "A variable may be unbound where the loop begins or ends, and is read after that.",
    "bind the variable before the loop, on every path",
    """
 #% loop
 def train(n):
+    last = None
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
    """
 #% loop
 def train(n):
-    total = 0
+    total = [0]
     def show():
-        return total
+        return total[0]
     for i in range(n):
-        total += i
+        total[0] += i
         print(show())
""",
)
rule(
    "loop-class",
    "The loop defines a class, whose module and qualified name would change.",
    "define the class at module level",
    """
 #% loop
+class Step:
+    index = 0
 def train(n):
     for i in range(n):
-        class Step:
-            index = i
         print(Step.__name__)
""",
)
rule(
    "loop-global",
    "The loop declares or assigns a global of its module.",
    "keep the state in an object",
    """
 #% loop
-count = 0
+counts = {'n': 0}
 def train(n):
-    global count
     for i in range(n):
-        count += 1
+        counts['n'] += 1
""",
)
rule(
    "loop-unreadable-name",
    "The loop uses a name that means something else inside a class: a private name (__x), super() or "
    "__class__.",
    "give the name a single underscore",
    """
 #% loop
 def train(n):
-    __total = 0
+    _total = 0
     for i in range(n):
-        __total += i
-    return __total
+        _total += i
+    return _total
""",
)
rule(
    "loop-module",
    "The loop uses something that differs from module to module: __name__, globals(), warnings.warn, a star "
    "import, a name that is bound nowhere in the file, or where a function was made.",
    "get the value before the loop",
    """
 #% loop
 def train(n):
+    here = __name__
     for i in range(n):
-        print(__name__)
+        print(here)
""",
)
rule(
    "loop-lifetime",
    "The loop deletes a variable of the setup, or the file has finalizers or weak references: what the setup "
    "made lives as long as the method runs, and what the loop made no longer than that.",
    "make the object inside the loop, or keep what watches lifetimes in another file",
    """
 #% loop
 def train(n):
     warm = [0] * n
     for i in range(n):
         if i == 1:
-            del warm
+            warm.clear()
         print(i)
""",
)
