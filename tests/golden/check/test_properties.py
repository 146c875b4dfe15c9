"""Properties of a run: what its variants have in common, from the run file to the exit status."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.golden.project import PLAIN_RUN, Project

pytest_plugins = ["pytester"]

SCRIPT = """
import argparse, json, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--envs", type=int, default=2)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--save", type=pathlib.Path)
parser.add_argument("--resume", type=pathlib.Path)
parser.add_argument("--backwards", action="store_true")
parser.add_argument("--quiet", action="store_true")
parser.add_argument("--broken", action="store_true")
options = parser.parse_args()
first = int(options.resume.read_text()) if options.resume else 0
if options.broken:
    raise SystemExit("boom")
envs = sorted(range(options.envs), reverse=options.backwards)
lines = [
    json.dumps({"type": "step", "env": env, "step": step, "value": env * 10 + step})
    for step in range(first, options.steps)
    for env in envs
]
if not options.quiet:
    (options.out / "events.jsonl").write_text("\\n".join([*lines, json.dumps({"type": "end"})]))
if options.save:
    options.save.write_text(str(options.steps))
"""

RUN = PLAIN_RUN.replace("[events]", "[args]\nenvs = 3\n\n[events]") + '\n[env]\nfield = "env"\n'
AGAIN = '[variants.again]\n[same.repeats]\nsays = "it repeats"\nvariants = ["again"]\nwhat = ["events"]\n'


@pytest.fixture
def plain(project: Project) -> Project:
    """A project whose run has a golden and no property yet."""
    project.script(SCRIPT)
    project.run_file(RUN)
    assert project.golden("record", "train", "--update").code == 0
    return project


def test_property_that_holds_and_one_that_does_not(plain: Project) -> None:
    plain.run_file(
        RUN
        + AGAIN
        + '[variants.fewer]\nargs = { envs = 2 }\n[same.numbers]\nsays = "numbers of envs don\'t matter"\n'
        + 'variants = ["fewer"]\nwhat = ["events"]\n'
    )
    result = plain.golden("verify")
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[0].startswith("train: identical (13 events, ")
    assert lines[1].startswith("train, repeats: holds for train.again (13 events, ")
    assert lines[2:4] == [
        "train, numbers: broken: numbers of envs don't matter",
        "different: train and train.fewer",
    ]
    assert "event 2 (step) of env 2 is missing in head" in lines[4]


def test_scope_of_a_property(plain: Project) -> None:
    plain.run_file(
        RUN
        + "[variants.alone]\nargs = { envs = 1 }\n"
        + "[variants.backwards]\nargs = { backwards = true }\n"
        + '[same.alone]\nsays = "x"\nvariants = ["alone", "backwards"]\nwhat = ["events"]\nenv = 0\n'
        + '[same.late]\nsays = "x"\nvariants = ["alone"]\nwhat = ["events"]\nwhere = { step = 3, env = 0 }\n'
        + '[same.counts]\nsays = "x"\nvariants = ["backwards"]\nwhat = ["counts"]\n'
        + '[same.nothing]\nsays = "x"\nvariants = ["alone"]\nwhat = ["events"]\nwhere = { step = 9 }\n'
    )
    result = plain.golden("verify")
    assert result.code == 4
    lines = result.out.splitlines()
    assert lines[1].startswith("train, alone: holds for train.alone (4 events")
    assert lines[2].startswith("train, alone: holds for train.backwards (4 events")
    assert lines[3].startswith("train, late: holds for train.alone (1 event,")
    assert lines[4].startswith("train, counts: holds for train.backwards")
    assert "train, nothing: not comparable for train.alone: no event with step 9 on either side" in result.out


def test_envs_in_any_order(plain: Project) -> None:
    plain.run_file(
        RUN
        + "[variants.backwards]\nargs = { backwards = true }\n[variants.fewer]\nargs = { envs = 2 }\n"
        + '[same.order]\nsays = "x"\nvariants = ["backwards", "fewer"]\nwhat = ["events"]\nenv = "each"\n'
    )
    result = plain.golden("verify")
    assert result.code == 1
    assert "train, order: holds for train.backwards (13 events" in result.out
    assert "(step) of env 2 is missing in head" in result.out
    assert not re.search(r"\) of env [01]", result.out)


def test_nothing_compared_is_not_a_success(plain: Project) -> None:
    plain.run_file(RUN + AGAIN + "where = { step = 9 }\n")
    assert plain.golden("verify").code == 4
    plain.run_file(RUN + AGAIN.replace('["events"]', '["steps"]'))
    result = plain.golden("verify")
    assert (result.code, "no optimizer step on either side" in result.out) == (4, True)


def test_variant_after_another(plain: Project) -> None:
    """A run that is resumed goes on in the folder of the one before; only the last is observed."""
    text = (
        RUN
        + '[variants.half]\nargs = { steps = 2, save = "{out}/state", quiet = true }\n'
        + '[variants.resumed]\nafter = "half"\nargs = { resume = "{out}/state" }\n'
        + '[same.resume]\nsays = "x"\nvariants = ["resumed"]\nwhat = ["events"]\nwhere = { env = 1 }\n'
    )
    plain.run_file(text)
    result = plain.golden("verify")
    assert result.code == 1
    assert "event 0 (step) of env 1 is missing in head" in result.out
    assert "event 1 (step) of env 1 is missing in head" in result.out

    plain.run_file(text.replace("where = { env = 1 }", "where = { step = 3 }"))
    assert plain.golden("verify").code == 0

    plain.run_file(text.replace("quiet = true", "broken = true"))
    result = plain.golden("verify")
    assert result.code == 3
    assert "train: identical" in result.out
    assert "train, resume: failed: run train.half: exit status 1" in result.out


def test_variant_without_events(plain: Project) -> None:
    plain.run_file(RUN + AGAIN.replace("[same", "args = { quiet = true }\n[same"))
    result = plain.golden("verify")
    assert (result.code, "wrote no file that matches events.jsonl" in result.out) == (4, True)


def test_variant_as_a_run_of_its_own(plain: Project) -> None:
    plain.run_file(RUN + "[variants.alone]\nargs = { envs = 1 }\nenv = { skip = 1 }\n")
    result = plain.golden("doctor", "train.alone")
    assert (result.code, "compared: 5 events" in result.out) == (0, True)
    result = plain.golden("doctor", "train.other")
    assert (result.code, "run train has no variant called other (there: alone)" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[variants.a]\nnonsense = 1\n", "unknown key variants.a.nonsense"),
        (
            '[variants.a]\npythonpath = ["src"]\n',
            'pythonpath is a key of an earlier version; say PYTHONPATH = "{root}/src" in [environment]',
        ),
        ("[everywhere]\nfields = []\n", "everywhere.fields is a key of an earlier version; leave it out"),
        ("[variants.a]\nevents = true\n", "variants.a.events: Input should be False"),
        ('[variants.a]\nafter = "b"\n', "variants.a.after: no variant called b (there: a)"),
        ('[variants.a]\nafter = "b"\n[variants.b]\nafter = "a"\n', "variants.a: runs after itself"),
        ('[same.x]\nsays = "x"\nvariants = ["a"]\n', "same.x: no variant called a (there: none)"),
        (AGAIN + "every = 1\n", "unknown key same.repeats.every"),
        (AGAIN.replace('"events"', '"pixels"'), "same.repeats.what.0: Input should be 'events', 'counts'"),
        (AGAIN + 'env = "all"\n', "same.repeats.env: say the number of an env, or"),
        (AGAIN.replace('["events"]', '["reads"]') + 'env = "each"\n', "not told apart by env; say what ="),
        (
            '[variants.a]\n[same.x]\nsays = "x"\nvariants = []\n',
            "same.x: name variants to compare, or say replicas = true; one of the two",
        ),
        (AGAIN + "replicas = true\n", "same.repeats: name variants to compare, or say replicas = true"),
    ],
)
def test_mistakes_in_run_files(project: Project, text: str, message: str) -> None:
    project.run_file(RUN + text)
    result = project.golden("verify")
    assert result.code == 2
    assert message in result.err


def test_env_of_a_run_without_envs(project: Project) -> None:
    project.run_file(PLAIN_RUN + AGAIN + "env = 0\n")
    result = project.golden("list")
    assert (result.code, "same.repeats.env: the run has no [env] table" in result.err) == (2, True)


def test_properties_as_tests(plain: Project, pytester: pytest.Pytester) -> None:
    plain.run_file(
        RUN
        + AGAIN
        + '[variants.fewer]\nargs = { envs = 2 }\n[same.numbers]\nsays = "numbers don\'t matter"\n'
        + 'variants = ["fewer"]\nwhat = ["events"]\n'
    )
    shutil.copytree(plain.root, pytester.path, dirs_exist_ok=True)
    options = ("-p", "golden.plugin", "-p", "no:cacheprovider", "golden", "-v")
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*::train PASSED*",
            "*::train[[]repeats] PASSED*",
            "*::train[[]numbers] FAILED*",
            "*train, numbers: broken: numbers don't matter*",
        ]
    )
    pytester.runpytest_inprocess(*options, "-k", "repeats").assert_outcomes(passed=1, deselected=2)


def test_shipped_run_files_are_sound() -> None:
    from golden.record.files import load_run, run_files

    runs = [load_run(path) for path in run_files(Path(__file__).parents[3])]
    assert any(run.same for run in runs)
