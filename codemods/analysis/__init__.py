"""What a program's helpers capture, when, and whether they can be lifted: decided over ``ast`` and
``symtable``.
"""
