"""Plans: which code goes to which file.

Question: what do a plan, or one lift, make of a project, and is a tree what a plan makes?
Imports program, values, rewrites and equal; no command.
"""
