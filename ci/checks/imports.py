"""Modules that must stay light to import: what each loads in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

from ci.checks.check import Context
from ci.config import Isolation
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict

# Runs in the fresh interpreter. Whoever asks first for a forbidden module is on the stack at that moment: the
# modules that are being imported there are the chain that leads to it.
_PROBE = """
import importlib, json, sys
module, forbidden = sys.argv[1], sys.argv[2:]
chains = {}
class Watch:
    def find_spec(self, name, path=None, target=None):
        for top in forbidden:
            if (name == top or name.startswith(top + ".")) and top not in chains:
                chain, frame = [name], sys._getframe(1)
                while frame is not None:
                    if frame.f_code.co_name == "<module>":
                        chain.append(frame.f_globals.get("__name__", "?"))
                    frame = frame.f_back
                chains[top] = chain[-2::-1]
        return None
watch = Watch()
sys.meta_path.insert(0, watch)
importlib.import_module(module)
print("\\n" + json.dumps({"chains": chains, "loaded": len(sys.modules)}))
"""
_TIMEOUT = 120


def isolation(context: Context, wanted: Isolation) -> Verdict:
    """Import one module, and see whether a forbidden one came with it."""
    command = [sys.executable, "-P", "-c", _PROBE, wanted.module, *wanted.without]
    try:
        done = subprocess.run(
            command,
            cwd=context.root,
            env=context.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return CouldNotRun(f"importing {wanted.module} takes more than {_TIMEOUT} s")
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode != 0 or not lines:
        return CouldNotRun(f"{wanted.module} can't be imported: {lines[-1] if lines else 'no output'}")
    found = json.loads(lines[-1])
    if found["chains"]:
        return Failed("; ".join(" -> ".join(chain) for chain in found["chains"].values()))
    return Passed(f"{found['loaded']} modules, none of them {', '.join(wanted.without)}")
