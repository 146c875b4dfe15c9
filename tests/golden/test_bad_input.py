"""What a user or a script can get wrong: one line, the right exit status, nothing half-written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from golden.trace.trace import FORMAT, load_trace
from tests.golden.project import PLAIN, PLAIN_RUN, RUN, TRAIN, Project, Result


def refused(project: Project, code: int, *argv: str | Path) -> str:
    result = project.golden(*argv)
    assert result.code == code, result
    lines = [line for line in result.err.splitlines() if line.startswith("golden: ")]
    assert len(lines) == 1
    assert "Traceback" not in result.err
    return lines[0]


def record(project: Project, code: int) -> str:
    line = refused(project, code, "record", "train", "-o", project.root / "out")
    out = project.root / "out"
    assert not out.exists()
    return line


def test_unknown_run(project: Project) -> None:
    line = refused(project, 2, "record", "nope", "-o", project.root / "out")
    assert "no run called nope" in line
    assert "(there: train)" in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RUN + "\n[args\n", "not TOML"),
        (RUN.replace("count = 3", ""), "module and count go together"),
        (RUN.replace('command = ["python", "train.py", "{out}"]', ""), "command: is missing"),
        (RUN.replace("budget = 5", ""), "budget: is missing"),
        ("profile = 'fast'\n" + RUN, "profile: Input should be 'exact' or 'portable'"),
        (f"seed = {10**21}\n{RUN}", "seed: Input should be less than 9223372036854775808"),
        ("seed = -1\n" + RUN, "seed: Input should be greater than or equal to 0"),
        (RUN.replace("budget = 5", "budget = inf"), "budget: Input should be a finite number"),
        (RUN.replace("timeout = 60", "timeout = nan"), "timeout: Input should be a finite number"),
        ("device = 'gpu'\n" + RUN, "device: String should match pattern"),
        (
            RUN.replace("{out}", "{outs}"),
            "no placeholder {outs} in '{outs}' (there: {out}, {seed}, {device}, {root})",
        ),
        (RUN + "\n[args]\nname = [{x = '{sed}'}]\n", "write {{sed}} for the text itself"),
    ],
)
def test_run_file_mistakes(project: Project, text: str, expected: str) -> None:
    project.run_file(text)
    assert expected in record(project, 2)


def plain(code: str) -> str:
    return PLAIN.replace("# AFTER EVENT", code)


# A file size limit stands for a full disk: the observer's own record no longer fits.
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
NO_STEPS = 'command = ["python", "train.py"]\nbudget = 1\n[observe]\nsteps = false\n'
FAILS = [
    (2, TRAIN, RUN.replace("train.py", "none.py"), "no script none.py in the repository; check its name"),
    (2, TRAIN, "folder = 'app'\n" + RUN, "no folder app in "),
    (2, TRAIN, RUN.replace('"train.py"', '"-m", "no_such_module"'), "No module named no_such_module"),
    (
        2,
        TRAIN,
        RUN.replace('"python"', '"no-such-program"'),
        "can't start no-such-program: No such file or directory; check its name",
    ),
    (
        3,
        plain("time.sleep(60)"),
        "timeout = 1\n" + PLAIN_RUN,
        "not done after 1 s, stopped before the first ",
    ),
    (3, LIMIT + TRAIN, RUN, "OSError: [Errno 27] File too large"),
    (
        3,
        plain("os.kill(os.getpid(), signal.SIGKILL)"),
        PLAIN_RUN,
        "killed by SIGKILL before the first optimi",
    ),
    (3, TRAIN.replace("# AFTER STEP", "import os; os._exit(0)"), RUN, "ended without closing its record"),
    (3, plain("log.write('{\"type\": ')"), PLAIN_RUN, "events.jsonl line 2: not a JSON object: "),
    (4, "import sys; open(sys.argv[1] + '/events.jsonl', 'w')", RUN, "wrote no event"),
    (4, PLAIN, PLAIN_RUN.replace("events.jsonl", "*.log"), "wrote no file that matches *.log"),
    (4, PLAIN, PLAIN_RUN.replace("false", "true"), "no optimizer step was seen"),
    (4, "", NO_STEPS, "neither events nor optimizer steps"),
]


@pytest.mark.parametrize(("code", "script", "run", "said"), FAILS, ids=[said for *_, said in FAILS])
def test_what_can_not_be_recorded_is_said(
    project: Project, code: int, script: str, run: str, said: str
) -> None:
    project.script(script)
    project.run_file(run)
    assert said in record(project, code)


def test_crash_names_the_step_and_the_last_line(project: Project) -> None:
    project.edit("AFTER STEP", "if (env, step) == (0, 2): raise ValueError('boom')")
    line = record(project, 3)
    assert re.search(r"exit status 1 after 7 optimizer steps: ValueError: boom \(train\.py:\d+", line)


@pytest.mark.slow
def test_crash_in_a_library_names_the_line_that_called_it(project: Project) -> None:
    project.plain("import ast\ndef parse(text):\n    return ast.literal_eval(text)\nparse('/a b')\n")
    assert re.search(
        r"before the first optimizer step: SyntaxError: .* \(\w+\.py:\d+, in parse\)$",
        record(project, 3).strip(),
    )


TORCHRUN = RUN.replace(
    '"python", "train.py"',
    '"python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"',
)
JOINED = """
import torch

torch.distributed.init_process_group("gloo")

def batch(index):
    if torch.distributed.get_rank() == 1:
        raise ValueError(f"batch {index} is bad")

batch(3)
torch.distributed.barrier()
"""


@pytest.mark.slow
def test_the_rank_that_failed_first_says_why(project: Project) -> None:
    """Rank 0 fails, too: nobody answers it. torchrun says last that something failed, and a row of signs."""
    project.run_file(TORCHRUN.partition("[events]")[0])
    project.script(JOINED)
    said = r"rank 1: ValueError: batch 3 is bad \(train\.py:\d+, in batch\)"
    assert re.search(rf"exit status 1 before .*: {said}$", record(project, 3).strip())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("sys.exit(4)", r".*failed \(exitcode: 4\) local_rank: 0 .*"),
        ("os.abort()", r".*failed \(exitcode: -6\) local_rank: 0 .*"),
    ],
)
def test_a_rank_that_ends_without_a_traceback_is_named(project: Project, ending: str, said: str) -> None:
    command = TORCHRUN.partition("[events]")[0]
    project.plain(f"import sys; os.environ['RANK'] == '0' and ({ending})", command)
    assert re.search(rf"exit status 1 before .*: {said}$", record(project, 3).strip())


def test_timeout_ends_what_the_run_started(project: Project) -> None:
    pid = project.root / "pid"
    start = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)"
    note = f"import subprocess; open({str(pid)!r}, 'w').write(str({start}.pid)); time.sleep(60)"
    project.plain(note, "timeout = 2\n" + PLAIN_RUN)
    assert "not done after 2 s" in record(project, 3)
    status = Path(f"/proc/{pid.read_text()}/status")
    for _ in range(50):
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.1)
    pytest.fail("the process outlived its run")


def test_braces_that_are_no_placeholder(project: Project) -> None:
    project.plain("open(sys.argv[1] + '/seen', 'w').write(repr(sys.argv[2:])); assert len(sys.argv) == 5")
    values = '"{{out}}", \'{"a": {"b": 1}}\', "{seed}{}"]'
    project.run_file(PLAIN_RUN.replace('"{out}"]', '"{out}", ' + values))
    trace = load_trace(project.record("out"))
    assert trace.about.argv[-3:] == ["{out}", '{"a": {"b": 1}}', "0{}"]


@pytest.mark.parametrize("kind", ["\\ud800", "a env=x b", "two\\nlines", "\\u202e", ""])
def test_odd_event_types(project: Project, kind: str) -> None:
    project.script(
        "import sys\nfile = open(sys.argv[1] + '/events.jsonl', 'w')\nn = 1\n# LATER\n"
        f'file.write(\'{{"type": "{kind.replace(chr(92), chr(92) * 2)}", "n": %d}}\' % n)\n'
    )
    project.run_file(PLAIN_RUN)
    assert project.golden("record", "train", "--update").code == 0
    assert project.golden("verify").code == 0
    project.edit("LATER", "n = 2")
    result = project.golden("verify")
    assert result.code == 1
    assert "first divergence: event 0 (" in result.out


@pytest.mark.slow
def test_nan_is_compared_by_its_bits_and_named(project: Project) -> None:
    """In a tensor, in a loss and in an event: equal NaNs are equal, others are reported as such."""
    poison = "host[0].weight.data[0, 0] = float('nan') if (env, step) == (1, 3) else host[0].weight[0, 0]"
    project.edit("BEFORE STEP", f"with torch.no_grad(): {poison}")
    left = project.record("left", dense=True)
    assert project.golden("diff", left, project.record("right", dense=True)).code == 0
    project.script((project.root / "train.py").read_text().replace("float('nan') if", "-0.0 if"))
    result = project.golden("diff", left, project.record("other", dense=True))
    assert result.code == 1
    assert (
        "step 3 of env 1, Sequential (step 10 overall, SGD): parameter 0.weight: 1 of 32 elements"
        in result.out
    )
    assert "NaN: 1 in base, 0 in head" in result.out
    assert "loss: NaN -> " in result.out


def test_out_that_cannot_be_written(project: Project) -> None:
    (project.root / "out").write_text("a file")
    line = refused(project, 2, "record", "train", "-o", project.root / "out")
    assert "can't write to" in line


def test_out_that_is_taken(project: Project) -> None:
    project.plain()
    project.record("out")
    line = refused(project, 2, "record", "train", "-o", project.root / "out")
    assert "exists already" in line


def test_diff_of_what_is_no_trace(project: Project) -> None:
    assert "no folder" in refused(project, 2, "diff", project.root / "x", project.root)
    assert "is not a trace" in refused(project, 2, "diff", project.root, project.root)


def test_nothing_can_go_to_the_device(project: Project) -> None:
    project.plain()
    line = refused(project, 4, "verify", "--device", "cuda")
    assert "no run has {device} in its command, so none can go to cuda" in line


def test_damaged_trace(project: Project) -> None:
    trace = project.record("out")
    steps = trace / "rank-0" / "steps.jsonl"
    steps.write_text(steps.read_text()[:-200])
    assert "is damaged" in refused(project, 2, "diff", trace, trace)
    head = trace / "trace.json"
    head.write_text(head.read_text().replace(f'"format": {FORMAT}', '"format": 99'))
    assert f"has format 99, not {FORMAT}" in refused(project, 2, "diff", trace, trace)


def test_data_folder(project: Project) -> None:
    common = ("record", "train", "-o", project.root / "out")
    assert "has no [data] table" in refused(project, 2, *common, "--data", project.root)
    project.run_file(RUN + '\n[data]\noption = "--data-dir"\n')
    assert "nowhere does not exist" in refused(project, 2, *common, "--data", project.root / "nowhere")


def test_usage_error_is_unusable_input(project: Project) -> None:
    result: Result = project.golden("diff")
    assert result.code == 2
    assert "Missing argument" in result.err


def test_a_folder_of_run_files_that_cannot_be_read(project: Project) -> None:
    runs = project.root / "golden" / "runs"
    shutil.rmtree(runs)
    runs.symlink_to(runs)
    for argv in (["list"], ["verify"], ["mutate", "train.py"]):
        line = refused(project, 2, *argv)
        assert line == f"golden: {runs}: can't be read: {os.strerror(errno.ELOOP)}"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_that_is_full(project: Project) -> None:
    command = [sys.executable, "-m", "golden", "list", "--root", str(project.root)]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "golden: output can't be written: No space left on device\n"
