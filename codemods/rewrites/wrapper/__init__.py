"""Split a helper into a function and a one-line closure: the transformer.

Question: what does a helper become that must stay a closure?
Imports program and text; plans use it.
"""
