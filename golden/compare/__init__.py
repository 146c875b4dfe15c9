"""Two traces in, one verdict out."""

from golden.compare.compare import compare
from golden.compare.outcome import Compared, Comparison, Different, Identical, NotComparable

__all__ = ["Compared", "Comparison", "Different", "Identical", "NotComparable", "compare"]
