"""Printed lines and written files of a run, read by value and without running any of it."""

from golden.outputs.masks import Masks
from golden.outputs.read import is_passing, read_outputs

__all__ = ["Masks", "is_passing", "read_outputs"]
