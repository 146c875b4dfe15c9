"""Options that mean the same in every command of the three programs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_ROOT = "--root"
ROOT_HELP = "The repository; by default the nearest folder upwards that is one."


def root_to_command(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Hand a ``--root DIR`` that stands before a command to the command."""
    words = list(arguments)
    for index, word in enumerate(words):
        if word in commands:
            break
        if word == _ROOT and index + 2 < len(words):
            del words[index : index + 2]
            return _behind(words, f"{_ROOT}={arguments[index + 1]}", commands)
        if word.startswith(f"{_ROOT}="):
            del words[index]
            return _behind(words, word, commands)
    return words


def _behind(words: list[str], option: str, commands: Collection[str]) -> list[str]:
    at = next((index for index, word in enumerate(words) if word in commands), len(words) - 1)
    return [*words[: at + 1], option, *words[at + 1 :]]
