"""Refusals, the rules behind them, and decisions for sets of helpers."""
