"""The command line; rank 1 is killed in its second round, unless torchrun has started it again."""

import os
import signal

from esper.scripts.train import _leave, main
from esper.tolaria import engine

if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    make_hosts = engine.VectorizedEngine.make_hosts

    def killed(self: engine.VectorizedEngine, round_idx: int) -> None:
        if round_idx == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        make_hosts(self, round_idx)

    engine.VectorizedEngine.make_hosts = killed  # type: ignore[method-assign]

_leave(main())
