"""What is told of a run."""

import json


def emit(kind, *, log, **fields):
    log.write(json.dumps({"type": kind, **fields}) + "\n")
