"""Keep variables that functions share in small objects, their cells.

Question: where does a variable live that a lifted function binds anew?
Imports program, equal, rules and text; plans use it.
"""
