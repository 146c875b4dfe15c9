"""The trace of a run: its files, its digests."""
