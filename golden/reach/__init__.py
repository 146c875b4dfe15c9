"""Which lines of a change a run executes."""
