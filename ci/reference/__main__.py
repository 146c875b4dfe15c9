"""``python -m ci.reference``: write the reference pages."""

from __future__ import annotations

from pathlib import Path

from ci.reference.pages import PAGES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"


def main() -> None:
    """Write the pages of docs/reference that are not current."""
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote: docs/reference/{name}")


if __name__ == "__main__":
    main()
