"""Findings and test cases as data, and one writer for each format.

Question: how is a result written as SARIF, JUnit, Markdown or JSON, alike for all commands?
Imports nothing of ours.
"""
