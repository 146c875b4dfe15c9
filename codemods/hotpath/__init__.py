"""Device syncs in hot loops, followed through calls and compared across moves.

Question: which places in hot loops make the host wait for the device?
Imports program; no rewrite, no plan.
"""

from codemods.hotpath.check import check, check_commit, check_files
from codemods.hotpath.cli import main
from codemods.hotpath.compare import Comparison, compare

__all__ = ["Comparison", "check", "check_commit", "check_files", "compare", "main"]
