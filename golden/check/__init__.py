"""Checks that run programs and compare their traces."""

from golden.check.ab import AbResult, ab, doctor

__all__ = ["AbResult", "ab", "doctor"]
