"""Codes for what is found while a lift is written and proven."""

from __future__ import annotations

from codemods.decide.refusals import rule

rule(
    "not-proven",
    "The lifted text does not compile to the same instructions; nothing of it was written. This is a "
    "fault of the tool, found in time: please report it.",
    "lift this helper by hand",
    "",
)
rule(
    "text-not-preserved",
    "The text around the helper holds something that would not be written back as it is (a form feed in an "
    "indentation, a line that is only a backslash); nothing of it was written.",
    "format the function, or take out the odd blanks",
    """
 def outer(n):
     def h(x):
         return x + n
     first = h(1)
-\\
+
     return first
""",
)
