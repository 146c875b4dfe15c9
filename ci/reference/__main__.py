"""``python -m ci.reference``: write the reference pages, or with --check say which are not current."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ci.reference.pages import PAGES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a page is not current.")
def command(check: bool) -> int:
    """Write docs/reference."""
    stale = []
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                FOLDER.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in stale:
        click.echo(f"{'not current' if check else 'wrote'}: docs/reference/{name}")
    return 1 if check and stale else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return int(command.main(args=argv, prog_name="ci.reference", standalone_mode=False) or 0)


if __name__ == "__main__":
    sys.exit(main())
