"""Errors that a user can act on; an entry point prints them as one line and exits with status 2."""


class InputError(Exception):
    """Something that the user gave cannot be used. The text says what, where, why and the way out, in
    one line.
    """
