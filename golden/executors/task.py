"""What a job does on its node: one command of golden, in a process of its own.

The module goes to the node by value and imports only the standard library: a package of the user's that is
called ``golden``, too, would be found there first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A scheduler kills some time after its SIGTERM: half a minute by default, longer where it is told so.
_PATIENCE_S = 600
_MAIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from golden.__main__ import main; sys.exit(main())"


@dataclass(slots=True)
class Task:
    """A command of golden, whose results go to a folder that is the job's alone.

    ``package`` is the folder that holds golden, ``state`` a digest of the tree ``root`` when it was queued;
    ``anew`` says that nothing in the folder is of use to another attempt.
    """

    argv: Sequence[str]
    package: str
    folder: str
    root: str
    refs: Sequence[str]
    state: str
    anew: bool
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __call__(self) -> int:
        """Run it; the exit status. Told to end by the scheduler, it comes to none."""
        if self.anew:
            # What an attempt before this one left, on a node that may be gone.
            shutil.rmtree(self.folder, ignore_errors=True)
        if tree_state(self.root, self.refs) != self.state:
            raise RuntimeError(f"{self.root} was changed while the job waited: run it again")
        command = [sys.executable, "-c", _MAIN, self.package, *self.argv]
        with _environment() as variables:
            self._process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL)
            try:
                status = self._process.wait()
            finally:
                self._end()
            if status in (-signal.SIGTERM, 128 + signal.SIGTERM):
                # The programs were told, too: that they ended says nothing of the code.
                time.sleep(_PATIENCE_S)
                raise RuntimeError("told to end by SIGTERM, and not ended")
        return status

    def checkpoint(self) -> Any:
        """What is queued again when the job is pre-empted: all of it, from its beginning."""
        from submitit.helpers import DelayedSubmission

        self._end()
        return DelayedSubmission(
            Task(self.argv, self.package, self.folder, self.root, self.refs, self.state, self.anew)
        )

    def _end(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        self._process.kill()


@contextlib.contextmanager
def _environment() -> Iterator[dict[str, str]]:
    """As on a workstation: without the variables by which programs find out that a scheduler runs them."""
    found = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SLURMD_", "SUBMITIT_"))}
    if "SLURM_JOB_ID" not in os.environ:
        yield found
        return
    # The scheduler gave the job its devices: it waits for no lock of another job's.
    with tempfile.TemporaryDirectory(prefix="golden-job-", ignore_cleanup_errors=True) as scratch:
        yield {**found, "TMPDIR": scratch}


def tree_state(root: str, refs: Sequence[str] = ()) -> str:
    """A digest of the commits that HEAD and ``refs`` name, of changed files and of new Python files.

    Without git it is empty: then nobody can tell.
    """
    digest = hashlib.sha256()
    try:
        digest.update(_git(root, "rev-parse", "HEAD", *refs))
        digest.update(_git(root, "diff", "HEAD", "--binary", "--no-ext-diff", "--", "."))
        new = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py").split(b"\0")
        for name in filter(None, new):
            digest.update(name + b"\0" + (Path(root) / os.fsdecode(name)).read_bytes())
    except (OSError, subprocess.CalledProcessError):
        return ""
    return digest.hexdigest()


def _git(root: str, *arguments: str) -> bytes:
    command = ["git", "-C", root, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
