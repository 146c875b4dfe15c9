"""The text of a file, changed where it is touched and kept elsewhere.

Question: how is a changed file written?
Imports program and libcst; every rewrite uses it.
"""
