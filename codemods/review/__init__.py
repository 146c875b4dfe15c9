"""Answers one question: which definition of a change is which of the other side, and what is left to read?

It imports `codemods.program`, `codemods.rewrites` for the rules of a lift, and the writers of
`esper_harness.report`; no plan.
"""
