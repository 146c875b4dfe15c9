"""The dynamic half: record seeded runs, compare them bit for bit, locate the first divergence."""
