"""The reference pages of ``docs/reference``, made of the code."""

from ci.reference.pages import PAGES

__all__ = ["PAGES"]
