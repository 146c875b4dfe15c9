"""`python -m esper.scripts.telemetry_doc`: write docs/telemetry.md from the payload types."""

import sys
from pathlib import Path

import click

from esper.nissa.document import telemetry_document


@click.command(help="Write the telemetry contract as Markdown.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("docs/telemetry.md"), show_default=True
)
@click.option("--check", is_flag=True, help="write nothing; exit 1 if the file is not current")
def main(output: Path, check: bool) -> None:
    """Write or check the document."""
    text = telemetry_document()
    if not check:
        output.write_text(text, encoding="utf-8")
    elif not output.exists() or output.read_text(encoding="utf-8") != text:
        click.echo(f"{output}: not current; run python -m esper.scripts.telemetry_doc", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
