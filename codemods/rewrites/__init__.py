"""Refusals, the rules behind them, and decisions for sets of helpers.

Question: may this code go elsewhere, and which text does the file have then?
Imports program and equal; plans, the audit and the review use it.
"""
