"""Errors that a user can act on; an entry point prints them as one line, and exits with a status for each."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Something that the user gave cannot be used: status 2. The text says what, where, why and the way out,
    in one line.
    """


class OutputError(Exception):
    """Something that a run wants to keep can no longer be written, so the run ends: status 1. The text says
    what, where, why and the way out, in one line.
    """


class LostRankError(Exception):
    """Another process of a distributed run is gone, or answers no more, so this one ends: status 3."""

    def __init__(self, who: str, what: str = "is gone", hint: str = "") -> None:
        super().__init__(f"{who} {what}{hint}")
        self.who, self.what = who, what


@contextmanager
def naming_flag(flag: str) -> Iterator[None]:
    """Put the flag that a path came from before what an error of the block says of the path."""
    try:
        yield
    except (InputError, OutputError) as error:
        raise type(error)(f"{flag} {error}") from error.__cause__
