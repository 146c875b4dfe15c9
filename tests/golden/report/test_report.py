"""`golden report`: what the page, the summary and the JUnit file say, and that they can't be made to lie."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from golden.cli import main
from golden.report.build import build
from golden.report.markdown import render_markdown
from golden.trace.outputs import Output, write_outputs
from golden.trace.trace import load_trace
from tests.golden.traces import write_trace

_VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """A page as a browser's parser sees it: its elements, its text, its style sheet."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.style = ""
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, "elements left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.text += f"{data} "

    @property
    def said(self) -> str:
        """The text with single spaces."""
        return " ".join(self.text.split())


def report(left: Path, right: Path, out: Path, code: int = 1) -> Page:
    assert main(["report", str(left), str(right), "-o", str(out)]) == code
    return Page(out.read_text(encoding="utf-8"))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two traces that part at step 3 of env 1, all tensors kept."""
    events = [("step", n % 2, {"n": n, "loss": 1.0 + n}) for n in range(12)]
    changed = [*events[:7], ("step", 1, {"n": 7, "loss": 8.5}), *events[8:]]
    left = write_trace(tmp_path / "a", dense=True, final=True, events=events)
    change = {(1, 3): 1 + 2**-20}
    return left, write_trace(tmp_path / "b", dense=True, final=True, events=changed, change=change)


def test_first_divergence_models_and_events(pair: tuple[Path, Path], tmp_path: Path) -> None:
    page = report(*pair, tmp_path / "page.html")
    assert "4 of 4 elements, up to 12 ulps" in page.said
    assert "of env 0" not in page.said
    assert "event 7 (step) of env 1: field loss: 8.0 -> 8.5" in page.said


def test_long_values_are_shown_where_they_differ(tmp_path: Path) -> None:
    long = "x" * 3000
    left = write_trace(tmp_path / "a", steps=0, events=[("step", None, {"text": f"{long}left{long}"})])
    right = write_trace(tmp_path / "b", steps=0, events=[("step", None, {"text": f"{long}right{long}"})])
    page = report(left, right, tmp_path / "page.html")
    assert re.search(r"\(2,971 characters\) …x{30}leftx+… \(6,006 in all\) -> ", page.said)
    assert re.search(r"-> \(2,971 characters\) …x{30}rightx+… \(6,007 in all\)", page.said)


@pytest.mark.parametrize(("before", "after"), [(0.0, -0.0), (5e-324, 0.0), (-1e308, 1e308), (0, -0.0)])
def test_numbers_at_the_edges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: float, after: float
) -> None:
    left, right = (
        write_trace(tmp_path / side, steps=0, events=[("step", None, {"loss": value})])
        for side, value in (("a", before), ("b", after))
    )
    assert main(["diff", str(left), str(right)]) == 1
    assert f"field loss: {before} -> {after}" in capsys.readouterr().out
    assert f"{before} -> {after}" in report(left, right, tmp_path / "page.html").said


def test_missing_and_extra_events(tmp_path: Path) -> None:
    events = [(f"kind{n}", None, {"n": n}) for n in range(12)]
    other = [*events[:2], *events[3:6], events[7], events[6], *events[8:], ("late", None, {"x": 1})]
    left = write_trace(tmp_path / "a", steps=0, events=events)
    page = report(left, write_trace(tmp_path / "b", steps=0, events=other), tmp_path / "page.html")
    assert "event 2 (kind2) is missing in head" in page.said
    assert "event 11 (late) is extra in head" in page.said
    assert re.search(r"event \d \(kind[67]\) is extra in head", page.said)


def test_identical(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    page = report(pair[0], pair[0], tmp_path / "page.html", code=0)
    assert "= Identical" in page.said
    assert "12 events, 12 optimizer steps, 56 tensors" in page.said
    assert "first divergence" not in page.said


def test_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = write_trace(tmp_path / "a")
    right = write_trace(tmp_path / "b", change={(0, 1): 2.0}, fingerprint={"torch": "3", "canary": "0"})
    junit = tmp_path / "out.xml"
    page = report(left, right, tmp_path / "page.html", code=4)
    assert "? Not comparable" in page.said
    assert "recorded under different fingerprints (torch: 2 and 3)" in page.said
    assert main(["report", str(left), str(right), "-o", str(junit)]) == 4
    root = ElementTree.parse(junit).getroot()
    assert (root.get("errors"), root.get("tests")) == ("1", "1")
    assert "train: not comparable: they differ, and were recorded under" in capsys.readouterr().out


def test_host_reads(tmp_path: Path) -> None:
    def reads(line: int, count: int) -> dict[tuple[str, int, str, str], int]:
        return {("train.py", line, "step", "item"): count, ("train.py", 9, "log", "tolist"): 4}

    left = write_trace(tmp_path / "a", reads=reads(3, 10))
    right = write_trace(tmp_path / "b", reads=reads(5, 30))
    page = report(left, right, tmp_path / "page.html")
    assert "host reads before step 0 of env 0, Host (step 0 overall): 14 -> 34" in page.said
    assert "train.py:5 step item: 10 -> 30" in page.said


HOSTILE = "<script>alert(1)</script>\"'><img src=http://evil.example/x onerror=alert(2)>{{ 7*7 }}`|``` $x$"


def test_everything_from_a_trace_is_escaped(tmp_path: Path) -> None:
    odd = f"{HOSTILE}\x00\x1b[31m\u202e\ud800\n# heading"
    events = [(odd, 0, {odd: HOSTILE, "n": 1}), (odd, 1, {"n": 2})]
    changed = [(odd, 0, {odd: "other", "n": 1}), (odd, 1, {"n": 3, odd: odd})]
    names = {"run": HOSTILE, "model": HOSTILE, "tensor": f"{HOSTILE}.w", "label": f"{HOSTILE}\u202e\x1b"}
    fingerprint = {HOSTILE: f"{HOSTILE}\x00"}
    reads = {(odd, 3, HOSTILE, odd): 3}
    left = write_trace(
        tmp_path / "a", dense=True, final=True, events=events, fingerprint=fingerprint, reads=reads, **names
    )
    right = write_trace(
        tmp_path / "b",
        dense=True,
        final=True,
        events=changed,
        fingerprint=fingerprint,
        change={(0, 1): 2.0},
        **names,
    )
    files = {kind: tmp_path / f"out.{kind}" for kind in ("html", "md", "xml")}
    options = [part for kind, path in files.items() for part in ("-o", str(path))]
    assert main(["report", str(left), str(right), *options]) == 1

    page = Page(files["html"].read_text(encoding="utf-8"))
    self_contained(page)
    assert HOSTILE in page.text
    assert not re.search("[\x00\x1b\u202e]", page.text)
    assert "\\x00" in page.text

    markdown = files["md"].read_text(encoding="utf-8")
    lines = markdown.splitlines()
    fences = [index for index, line in enumerate(lines) if line.startswith("````")]
    assert len(fences) == 2
    outside = lines[: fences[0]] + lines[fences[1] + 1 :]
    assert all("<script>" not in re.sub(r"(`+)( .*? )\1(?!`)", "", line) for line in outside)

    case = ElementTree.parse(files["xml"]).getroot().find(".//failure")
    assert case is not None
    assert "<script>" in str(case.get("message"))


def self_contained(page: Page) -> None:
    """No element runs, loads or points anywhere outside the page."""
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "form", "base", "image", "audio"}
    for _, attrs in page.elements:
        assert not any(name.startswith("on") or name in ("src", "srcset", "action") for name in attrs)
        assert attrs.get("href", "#").startswith("#")
        assert not re.search(r"url\((?!#)", attrs.get("style", "") + attrs.get("clip-path", ""))
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_self_contained_and_accessible(pair: tuple[Path, Path], tmp_path: Path) -> None:
    page = report(*pair, tmp_path / "page.html")
    self_contained(page)
    assert "http" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    ids = Counter(attrs["id"] for _, attrs in page.elements if "id" in attrs)
    assert max(ids.values()) == 1
    for tag, attrs in page.elements:
        if tag == "th":
            assert attrs["scope"] in ("row", "col")
        for reference in (attrs.get("href", "#")[1:], attrs.get("aria-labelledby", "")):
            assert not reference or reference in ids
    assert ("html", {"lang": "en"}) in page.elements
    assert any(attrs.get("name") == "viewport" for _, attrs in page.elements)
    assert "prefers-color-scheme: dark" in page.style
    assert "max-width" in page.style


def test_equal_traces_give_equal_bytes(pair: tuple[Path, Path], tmp_path: Path) -> None:
    kinds = ("html", "md", "xml")
    for name in ("one", "two"):
        options = [part for kind in kinds for part in ("-o", str(tmp_path / f"{name}.{kind}"))]
        assert main(["report", *map(str, pair), *options]) == 1
    for kind in kinds:
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


@pytest.mark.slow
def test_size_does_not_grow_with_the_traces(tmp_path: Path) -> None:
    text = "y" * 2000
    events = [("step", n % 50, {"n": n, "text": "x" * 2000}) for n in range(6000)]
    changed = [(kind, env, {**payload, "text": text}) for kind, env, payload in events]
    left = write_trace(tmp_path / "a", steps=2000, events=events)
    right = write_trace(tmp_path / "b", steps=2000, events=changed, change={(0, 0): 2.0, (1, 0): 3.0})
    files = {kind: tmp_path / f"out.{kind}" for kind in ("html", "md", "xml")}
    options = [part for kind, path in files.items() for part in ("-o", str(path))]
    assert main(["report", str(left), str(right), *options]) == 1
    assert files["html"].stat().st_size < 500_000
    assert files["md"].stat().st_size < 50_000
    assert files["xml"].stat().st_size < 50_000
    page = Page(files["html"].read_text(encoding="utf-8"))
    assert re.search(r"and [\d,]+ more ", page.said)
    assert "… (2,002 in all) -> " in page.said


def test_markdown_counts_what_it_leaves_out(pair: tuple[Path, Path]) -> None:
    traces = [load_trace(path) for path in pair]
    one = build(*traces, left_title="left", right_title="right")
    whole = render_markdown([one] * 3)
    assert whole.count("## `train`") == 3
    assert "left out" not in whole
    limit = len(whole.encode()) - 200
    short = render_markdown([one] * 3, limit=limit)
    assert len(short.encode()) <= limit
    assert short.count("## `train`") == 2
    assert "1 of 3 runs are left out here to keep this text short." in short
    many = render_markdown([one] * 40_000)
    assert len(many.encode()) < 1 << 20
    assert re.search(r"[\d,]+ more runs are not listed", many)


def test_several_runs_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, change in (("a", {}), ("b", {(0, 2): 2.0})):
        write_trace(tmp_path / side / "one", run="one", change=change)
        write_trace(tmp_path / side / "two", run="two")
    page = report(tmp_path / "a", tmp_path / "b", tmp_path / "page.html")
    assert "1 different, 1 identical of 2 runs" in page.said
    assert "one different two identical" in page.said
    assert [a["href"] for tag, a in page.elements if tag == "a"] == ["#run-0", "#run-1"]
    out = capsys.readouterr().out
    assert "one: different: step 2 of env 0, Host" in out
    assert "two: identical (" in out


def test_junit_has_a_suite_per_run_and_a_case_per_kind_that_differs(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "out.xml"
    assert main(["report", *map(str, pair), "-o", str(path)]) == 1
    suite = ElementTree.parse(path).getroot().find("testsuite")
    assert suite is not None
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failed == {case.get("name") for case in suite}
    assert {"events", "buffer", "final state"} <= failed
    assert main(["report", str(pair[0]), str(pair[0]), "-o", str(path)]) == 0
    root = ElementTree.parse(path).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("1", "0", "0")
    assert root.find(".//testcase[@name='verdict']") is not None


def test_junit_fails_whatever_differs(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """What is printed differs, and nothing else: a case fails, as the command does."""
    path = tmp_path / "out.xml"
    sides = []
    for name, line in (("a", "loss 1"), ("b", "loss 2")):
        side = write_trace(tmp_path / "printed" / name)
        write_outputs(side, [Output("text", "stdout", ({"line": line},))])
        sides.append(str(side))
    assert main(["report", *sides, "-o", str(path)]) == 1
    cases = ElementTree.parse(path).getroot().iter("testcase")
    assert {case.get("name") for case in cases if case.find("failure") is not None} == {"output"}


def test_bad_input_is_one_line(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = map(str, pair)
    page = str(tmp_path / "page.html")
    (tmp_path / "file").write_text("")
    cases = [
        ([a, b], "say what to write: -o FILE.html, FILE.md or FILE.xml"),
        ([a, str(tmp_path / "nowhere"), "-o", page], "no folder"),
        ([a, str(tmp_path / "b" / "rank-0"), "-o", page], "is not a trace"),
        ([a, b, "-o", str(tmp_path)], "is a folder; name the file"),
        ([a, b, "-o", str(tmp_path / "page")], "a report is .html, .md, .xml; name the file so"),
        ([a, b, "-o", str(tmp_path / "file" / "page.html")], "can't write"),
    ]
    for argv, message in cases:
        assert main(["report", *argv]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert len(err.splitlines()) == 1
    assert not Path(page).exists()


def test_damaged_tensors_are_one_line(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("dense/step-000007", "final/optimizer-0001"):
        path = pair[1] / "rank-0" / f"{name}.safetensors"
        whole = path.read_bytes()
        path.write_bytes(whole[:30])
        assert main(["diff", *map(str, pair)]) == 2
        err = capsys.readouterr().err
        assert "is damaged" in err
        assert len(err.splitlines()) == 1
        path.write_bytes(whole)
    # Files that are equal aren't read by the library, unless they are cut short.
    cut = path.read_bytes()[:-1]
    for trace in pair:
        (trace / "rank-0" / "final" / path.name).write_bytes(cut)
    assert main(["diff", *map(str, pair)]) == 2
    assert "is damaged" in capsys.readouterr().err
