"""What running a statement of a program may do; `effects` is the one place that says.

Reads syntax trees and what callers know of names. Imports nothing else of this package: every layer may ask.
"""
