"""Import sections: what is needed, and how they are written.

Question: which imports does a file still need once code has left it?
Imports program, equal and text; plans use it.
"""
