"""Planted one-line mistakes in the foreign programs under examples/: is each caught, and placed?"""
