"""The analysed program as text: files, scopes, names, captures, control flow, effects of statements, seams.

Question: what is there, what does a name mean, what may a statement do? Never what is to be done about it.
Imports no other room: every layer may ask.
"""
