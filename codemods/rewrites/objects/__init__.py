"""Keep variables in small objects: cells, which functions share, and contexts, which they only read."""
