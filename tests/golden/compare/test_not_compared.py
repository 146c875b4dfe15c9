"""Verdicts name what they do not compare, in the same words in text, page, JUnit and JSON."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

from tests.golden.project import PLAIN_RUN, Project

WRITES = (
    "print('took 0.25 s'); open('beside.txt', 'w').write('1');"
    " json.dump({'elapsed': time.time(), 'score': 1}, open(sys.argv[1] + '/scores.json', 'w'));"
    " open(sys.argv[1] + '/plot.png', 'w').write('x')"
)
MASKED = (
    "not compared, reads like a time, a rate or an id, drawn over, or left out by the run file: "
    "file plot.png ([outputs] ignore), "
    "numbers in 3 lines of stdout, field elapsed of scores.json"
)
ANEW = "not compared: earlier contents of scores.json"
BESIDE = "not compared, written outside {out}: beside.txt; to compare, add to [outputs]: files = "


def test_every_gap_is_named_everywhere(project: Project, tmp_path: Path) -> None:
    project.plain(WRITES, PLAIN_RUN + '\n[outputs]\nignore = ["*.png"]\n\n[variants.base]\n')
    out = project.root / "out"
    result = project.golden("ab", "train", "-o", out)
    assert result.code == 0, result
    assert MASKED in result.out.splitlines()
    assert BESIDE in result.out

    [found] = json.loads((out / "results.json").read_text())["results"]
    assert found["not_compared"][:2] == [ANEW, MASKED]
    assert found["not_compared"][2].startswith(BESIDE)

    page, cases = tmp_path / "page.html", tmp_path / "cases.xml"
    sides = (out / "train" / "base", out / "train" / "head")
    assert project.golden("report", *sides, "-o", page, "-o", cases).code == 0
    shown = html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))
    skipped = ((case.get("name"), case.find("skipped")) for case in ElementTree.parse(cases).iter("testcase"))
    said = "\n".join(f"{name}: {each.get('message')}" for name, each in skipped if each is not None)
    for text in (shown, said):
        assert MASKED in text
        assert BESIDE in text


def test_what_a_property_leaves_out_is_among_the_results(project: Project) -> None:
    """There is no golden: the property alone judges something."""
    same = '[variants.again]\n[same.repeats]\nsays = "it repeats"\nvariants = ["again"]\nwhat = ["events"]\n'
    project.plain(WRITES, PLAIN_RUN + '\n[outputs]\nignore = ["*.png"]\n\n' + same)
    out = project.root / "out"
    result = project.golden("verify", "train", "-o", out)
    assert (result.code, "train, repeats: holds for train.again" in result.out) == (4, True), result
    assert MASKED in result.out.splitlines()
    [found] = json.loads((out / "results.json").read_text())["results"]
    assert found["not_compared"][:2] == [ANEW, MASKED]


def test_a_file_that_is_only_touched_is_the_programs_own(project: Project) -> None:
    project.plain("os.utime('train.py')")
    assert project.golden("doctor", "train").code == 0


def test_contents_that_a_file_had_for_a_while_are_named(project: Project) -> None:
    code = (
        "open('status.txt', 'w').write(str(step)); open(sys.argv[1] + '/x', 'w').write('1');"
        " step < 2 or os.remove(sys.argv[1] + '/x');"
        " open('a.part', 'w').close(); os.replace('a.part', f'{step}.txt');"
        " open(sys.argv[1] + '/log', 'a').write('1')"
    )
    project.plain(code, PLAIN_RUN + '\n[outputs]\nfiles = ["*.txt"]\n')
    result = project.golden("doctor", "train")
    assert result.code == 0, result
    assert "not compared: earlier contents of status.txt, removed files: x" in result.out.splitlines()


def test_a_file_that_only_one_side_removes_is_a_difference(project: Project) -> None:
    project.script("", "settings.py")
    code = "step or os.environ.get('SIDE') == 'base' or os.remove('settings.py')"
    run = '\n[outputs]\nfiles = ["**"]\n\n[variants.base]\nenvironment = { SIDE = "base" }\n'
    project.plain(code, PLAIN_RUN + run)
    result = project.golden("ab", "train")
    assert (result.code, "first divergence: file settings.py is missing in head" in result.out) == (
        1,
        True,
    ), result
