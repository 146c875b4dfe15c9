"""Programs with a main loop: those that are carried out, and those that are refused, with the code."""

from pathlib import Path

from tests.codemods.catalogue import read

TAKEN, REFUSED = read(Path(__file__).with_name("loops.md"))
