"""Lift helpers: the decision for a set of them, and the transformer.

Question: which helpers become functions of the module, and how?
Imports program, equal, rules and text; plans use it.
"""
