"""Run files, and the recording of a run in a fresh process."""

from golden.record.files import find_root, find_run, find_runs, load_run
from golden.record.recorder import Closely, record_run
from golden.record.run import Run

__all__ = ["Closely", "Run", "find_root", "find_run", "find_runs", "load_run", "record_run"]
