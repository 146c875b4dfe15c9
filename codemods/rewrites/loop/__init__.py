"""Make a main loop the method of a class: rules and transformer.

Question: may this loop become a method, and which fields does its class have?
Imports program, equal, rules and text; plans use it.
"""
