"""The command that writes the telemetry document."""

from pathlib import Path

from click.testing import CliRunner

from esper.scripts.telemetry_doc import main, telemetry_document


def test_it_writes_the_document_and_tells_whether_one_is_current(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.md"
    check = ["-o", str(path), "--check"]
    missing = CliRunner().invoke(main, check)
    assert (missing.exit_code, missing.output) == (
        1,
        f"{path}: not current; run python -m esper.scripts.telemetry_doc\n",
    )
    assert CliRunner().invoke(main, ["-o", str(path)]).exit_code == 0
    assert path.read_text() == telemetry_document()
    assert CliRunner().invoke(main, check).exit_code == 0
    path.write_text("old")
    assert CliRunner().invoke(main, check).exit_code == 1
