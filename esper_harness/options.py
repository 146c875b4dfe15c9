"""Options that mean the same in every command of the three programs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

_ROOT = "--root"
ROOT_HELP = "The repository; by default the nearest folder upwards that is one."
# Options that were there once, each with what to do instead.
GONE = {
    "--annotations": "captures get the annotations that the program states",
    "--box": "it is called --cell",
    "--cache-dir": "nothing is cached; leave it out",
    "--captures": "captures are keyword-only parameters; leave it out",
    "--dense": "`golden ab --localize` records every tensor of the steps around a divergence",
    "--diff-coverage": "it is part of --base",
    "--html": "write -o FILE.html",
    "--ignore": "say `ignore` in [tool.codemods.hotpath]",
    "--json": "it is called --output",
    "--junit": "-o keeps JUnit XML",
    "--markdown": "write -o FILE.md",
    "--merge": "give mutate more time or fewer mutants",
    "--mistakes": "it is called --mutants",
    "--no-cache": "nothing is cached; leave it out",
    "--no-diff-coverage": "diff coverage is part of --base",
    "--no-reach": "diff coverage is part of --base",
    "--no-try": "--dry-run shows what would be written",
    "--not-followed": "--format json lists these calls as not_followed",
    "--out": "it is called --output",
    "--owner": "baselines have no owners; leave it out",
    "--reach": "diff coverage is part of --base",
    "--reads": "--measured FILE takes the syncs that `golden syncs -o FILE` measures",
    "--reason": "write reasons into the baseline, where --update-baseline keeps them",
    "--residual": "it is called --wrapper",
    "--sarif": "-o DIR keeps gate.sarif",
    "--select": "say `ignore` in [tool.codemods.hotpath], with the codes that are not reported",
    "--shard": "give mutate more time or fewer mutants",
    "--statistics": "--format json has every finding to count",
    "--stdin-filename": "name the file",
    "--summary": "-o DIR keeps gate.md",
}


def told(error: click.ClickException) -> str:
    """Return the line for an error; of an option that was there once, it says what to do instead."""
    if isinstance(error, click.NoSuchOption) and (instead := GONE.get(error.option_name)):
        return f"{error.option_name} is gone: {instead}"
    return error.format_message()


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
