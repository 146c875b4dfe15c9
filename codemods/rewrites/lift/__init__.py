"""Lift helpers: the decision for a set of them, and the transformer."""
