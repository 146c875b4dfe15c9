"""Split a helper into a function and a one-line closure: the transformer."""
