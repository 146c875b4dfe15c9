"""Checks that run programs and compare their traces."""
