"""Tables of the corpora in benchmarks/hotpath.md, each between two marks of its name."""

from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[3] / "benchmarks" / "hotpath.md"


def renew(name: str, table: str) -> None:
    """Put a table in the place of the one that stands there."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = DOCUMENT.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(f"{before}{begin}{table}{end}{after}", "utf-8")
