"""Answers one question: do two programs do the same?

The proofs read both texts and compare what the compiler makes of them. A caller may claim which definition
became which; each claim is checked against both texts.
It imports `codemods.program` and nothing else of the package: no rewrite, and none of their rules.
"""
