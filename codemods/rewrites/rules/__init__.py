"""Rules that a helper must pass to be lifted.

Question: may this helper become a function of the module, and if not, under which code is it refused?
Imports program and the registry of codes; the lift, the loop, the cell and plans use it.
"""
