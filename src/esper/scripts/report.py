"""`python -m esper.scripts.report RUN_DIR`: one HTML page of a run, from the events in its folder."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from esper.leyline.errors import InputError

EXIT_OK = 0
EXIT_UNUSABLE_INPUT = 2


@click.command(help="Make one self-contained HTML page of a run from the events in its telemetry folder.")
@click.version_option(package_name="esper-trainer", message="%(prog)s %(version)s")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="default: report.html in RUN_DIR")
def _report(run_dir: Path, output: Path | None) -> Path:
    from esper.nissa import EVENT_FILE, read_events
    from esper.nissa.report import collect, render_page

    events = run_dir / EVENT_FILE
    if not events.exists():
        raise InputError(f"{run_dir}: has no {EVENT_FILE}; give the folder that --telemetry-dir named")
    page = render_page(collect(read_events(events, cut_off_end=True), events))
    target = output or run_dir / "report.html"
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from None
    return target


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page and say where; 0 done, 2 unusable input, said in one line."""
    try:
        result = _report.main(args=argv, prog_name="python -m esper.scripts.report", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return EXIT_UNUSABLE_INPUT
    except InputError as error:
        click.echo(f"error: {error}", err=True)
        return EXIT_UNUSABLE_INPUT
    if isinstance(result, Path):
        click.echo(result)
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
