"""Device syncs in hot loops, followed through calls and compared across moves."""

from codemods.hotpath.check import check, check_commit, check_files
from codemods.hotpath.cli import main
from codemods.hotpath.compare import Comparison, compare

__all__ = ["Comparison", "check", "check_commit", "check_files", "compare", "main"]
