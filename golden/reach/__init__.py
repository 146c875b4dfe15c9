"""Diff coverage: which lines of a change a run executes."""
