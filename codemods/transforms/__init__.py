"""Rewrites of source text that keep every untouched byte, and the proof that they keep the meaning."""
