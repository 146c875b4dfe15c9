"""What a run printed and wrote, read by value and without running any of it."""

from golden.outputs.masks import Masks
from golden.outputs.read import read_outputs

__all__ = ["Masks", "read_outputs"]
