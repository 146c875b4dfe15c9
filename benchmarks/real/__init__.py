"""The static half on real programs: what is measured, and how it is compared with the committed tables."""
