"""The frozen single-file trainer: the "before" of every plan. A specimen, deliberately one huge function."""
