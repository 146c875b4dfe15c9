"""What a run leaves behind: the trace, its files, its digests."""
