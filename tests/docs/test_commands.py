"""Every command on a page exists, and so does every option that the page gives it."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ci.reference.commands import commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", *sorted(ROOT.glob("docs/**/*.md"))]
COMMANDS = dict(commands())
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:golden|codemods|golden-gate) [a-z][^`\n]*)`")


def typed(page: Path) -> Iterator[str]:
    """The command lines of a page, in blocks and in text."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield from re.split(r"&&|\|\||[|;]", line.removeprefix("$ ").split("  #")[0])
    yield from INLINE.findall(BLOCK.sub("", text))


def words(line: str) -> list[str]:
    """A command line as words, ``python -m`` as the console script; empty if it calls nothing of ours."""
    try:
        found = shlex.split(line, comments=True)
    except ValueError:
        return []
    if found[:2] == ["python", "-m"] and len(found) > 2:
        found = [*found[2].replace("ci.gate", "golden-gate.run").split("."), *found[3:]]
    if found[:1] == ["golden"] and found[1:2] in (["-q"], ["--quiet"]):
        del found[1]
    return found if len(found) > 1 and any(name.startswith(f"{found[0]} ") for name in COMMANDS) else []


def problems(found: list[str]) -> Iterator[str]:
    """The subcommand or options that do not exist."""
    name = " ".join(found[:2])
    command = COMMANDS.get(name)
    if command is None:
        if found[1].startswith("-") or not re.fullmatch(r"[a-z]+", found[1]):
            return
        yield f"no command {name}"
        return
    spelled = {text for option in command.params for text in (*option.opts, *option.secondary_opts)}
    ours = found[2 : found.index("--")] if "--" in found else found[2:]
    for word in ours:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][\w-]*", option) and option not in spelled | {"--help", "-h", "--version"}:
            yield f"{name} has no option {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_options_of_a_page_exist(page: Path) -> None:
    found = [words(line) for line in typed(page)]
    assert [problem for line in found if line for problem in problems(line)] == []


def test_a_wrong_option_is_found() -> None:
    assert [*problems(words("golden ab --bass main -- python train.py --steps 3"))] == [
        "golden ab has no option --bass"
    ]
    assert [*problems(words("python -m codemods.extrakt train.py"))] == ["no command codemods extrakt"]
    assert isinstance(COMMANDS["golden ab"], click.Command)
