"""Planted one-line changes in the trainer: does the suite catch each, and say where it is?"""
