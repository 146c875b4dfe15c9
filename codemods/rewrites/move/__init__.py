"""Move module-level definitions: rules and transformer.

Question: may a definition go to another file, and what follows it?
Imports program, rules and text; plans use it.
"""
