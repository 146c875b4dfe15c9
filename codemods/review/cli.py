"""The command line of the review."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codemods.output import output_option, put, run_command
from codemods.program.repository import parse_tools

if TYPE_CHECKING:
    from codemods.review.report import Review

_PROJECT = "pyproject.toml"
_FORMATS = ["text", "json", "markdown", "sarif", "accept"]


class Exit(enum.IntEnum):
    """Exit statuses."""

    PROVEN = 0
    LEFT = 1
    UNUSABLE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``python -m codemods.review`` and give its exit status.

    0: everything is proven equal, or ``--exit-zero``; 1: something is left to read; 2: unusable input.
    """
    return run_command(command, argv)


@click.command(
    name="review",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="What of a change is proven equal, what stands elsewhere in its order, and what is left to read.\n\n"
    "Exit status: 0 everything is proven equal, 1 something is left to read, 2 unusable input.",
)
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.argument("paths", nargs=-1)
@click.option("--base", required=True, metavar="REF|DIR", help="The side before: a commit or a folder.")
@click.option("--head", metavar="REF|DIR", help="The side after; the working tree unless told.")
@click.option("--root", type=click.Path(path_type=Path), default=Path(), hidden=True)
@click.option("--format", "--output-format", "output_format", type=click.Choice(_FORMATS), default="text")
@click.option(
    "--accepted",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file of what was read and accepted, each with a reason; --format accept writes one.",
)
@output_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
def command(
    paths: Sequence[str],
    base: str,
    head: str | None,
    root: Path,
    output_format: str,
    accepted: Path | None,
    output: Path | None,
    exit_zero: bool,
) -> int:
    """Compare, print, exit."""
    from codemods.review.review import review
    from codemods.review.trees import tree_at, working_tree

    before = tree_at(base, root)
    after = working_tree(root) if head is None else tree_at(head, root)
    if _PROJECT in after.identities and " " not in after.identities[_PROJECT]:
        parse_tools(after.read(_PROJECT), _PROJECT)
    found = review(before, after, paths)
    if accepted is not None:
        from codemods.review.accept import accept

        found = accept(found, before, accepted)
    text = _renderer(output_format)(found)
    put(text, output)
    return Exit.PROVEN if found.clean or exit_zero else Exit.LEFT


def _renderer(output_format: str) -> Callable[[Review], str]:
    """Return the writer of a format; the others are not loaded."""
    if output_format == "json":
        from codemods.review.render import as_json as renderer
    elif output_format == "markdown":
        from codemods.review.markdown import as_markdown as renderer
    elif output_format == "sarif":
        from codemods.review.sarif import as_sarif as renderer
    elif output_format == "accept":
        from codemods.review.accept import as_entries as renderer
    else:
        from codemods.review.render import as_text as renderer
    return renderer
