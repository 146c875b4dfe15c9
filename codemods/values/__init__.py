"""Types of variables and expressions, as far as the program's text states them.

Question: which type has a captured variable, and which annotation says so in which file?
Imports program only; rewrites, plans and extract use it.
"""
