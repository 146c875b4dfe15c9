"""Repositories in the style of other people, each with a changed behaviour, a stall, a refactoring."""
