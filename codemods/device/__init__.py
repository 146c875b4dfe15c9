"""Operations at which the host waits for a device, by name alone.

Question: which calls wait, and in which loops?
Imports program only; audit and hotpath use it.
"""
