"""A Slurm of one node, with its accounts, in a folder of its own: ``python tests/golden/slurm.py FOLDER``.

Needs Debian's slurm-wlm, slurmdbd, munge and mariadb-server; what the machine is configured for is not read.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_DAEMONS = ("munged", "mariadbd", "mariadb-install-db", "slurmdbd", "slurmctld", "slurmd", "sacct", "sbatch")
_SECONDS = 60.0
# A cancelled job has five seconds (KillWait) before it is killed.
_PATIENCE = 15.0
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_SLURM = """
ClusterName=golden
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=20
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={folder}/munge.socket
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
ReturnToService=2
SchedulerParameters=bf_interval=5,sched_interval=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 State=UP
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP
"""
_DATABASE = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser={user}
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={mysql}
StorageUser=root
StorageLoc=slurm
"""


def missing() -> list[str]:
    """What of it is not installed."""
    return [name for name in _DAEMONS if shutil.which(name, path=_PATH) is None]


@contextlib.contextmanager
def one_node(folder: Path, cpus: int = 2) -> Iterator[dict[str, str]]:
    """Within it Slurm runs; the environment variables of its commands."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("state", "spool", "mysql"):
        (folder / name).mkdir()
    ports = dict(zip(("ctld", "slurmd", "dbd", "mysql"), _free_ports(4), strict=True))
    host = socket.gethostname().partition(".")[0]
    facts = {"folder": folder, "host": host, "user": getpass.getuser(), "cpus": cpus, **ports}
    (folder / "slurm.conf").write_text(_SLURM.format(**facts))
    (folder / "slurmdbd.conf").write_text(_DATABASE.format(**facts))
    (folder / "slurmdbd.conf").chmod(0o600)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    variables = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": _PATH}
    environment = os.environ | variables

    def call(*command: str) -> bool:
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        return done.returncode == 0

    with contextlib.ExitStack() as stack:

        def start(*command: str) -> None:
            log = stack.enter_context((folder / f"{command[0]}.said").open("wb"))
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            stack.callback(_end, process)

        munge = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge)
        data = [f"--datadir={folder}/mysql", f"--user={getpass.getuser()}"]
        assert call("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", *data)
        tcp = ["--bind-address=127.0.0.1", f"--port={ports['mysql']}", f"--socket={folder}/mysql.socket"]
        start(
            "mariadbd", "--no-defaults", "--skip-grant-tables", *data, *tcp, f"--pid-file={folder}/mysql.pid"
        )
        _wait(lambda: _listens(ports["mysql"]), "mariadbd", folder)
        start("slurmdbd", "-D")
        _wait(lambda: _listens(ports["dbd"]), "slurmdbd", folder)
        call("sacctmgr", "-i", "add", "cluster", "golden")
        start("slurmctld", "-D", "-i")
        _wait(lambda: call("scontrol", "ping") and _listens(ports["ctld"]), "slurmctld", folder)
        start("slurmd", "-D", "-N", host)
        idle = ["sinfo", "-h", "-t", "idle", "-o", "%n"]
        _wait(
            lambda: bool(
                subprocess.run(idle, env=environment, capture_output=True, check=False).stdout.strip()
            ),
            "slurmd",
            folder,
        )
        stack.callback(_end_jobs, folder, call)
        yield variables


def _end_jobs(folder: Path, call: Callable[..., bool]) -> None:
    """Cancel what is left in the queue, then end the jobs' daemons, which outlive slurmd."""
    call("scancel", "--user", getpass.getuser())
    deadline = time.monotonic() + _PATIENCE
    while (left := list(_stepds(folder))) and time.monotonic() < deadline:
        time.sleep(0.2)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stepds(folder: Path) -> Iterator[int]:
    """The daemons of jobs of the Slurm in ``folder``: they write to its log."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "comm").read_text().startswith("slurmstepd") and any(
                str(file.readlink()).startswith(f"{folder}/") for file in (path / "fd").iterdir()
            ):
                yield int(path.name)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=20)
    process.kill()
    process.wait()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _wait(ready: Callable[[], bool], what: str, folder: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while not ready():
        if time.monotonic() > deadline:
            said = "\n".join(
                path.read_text(errors="replace")[-1500:]
                for path in (folder / f"{what}.said", folder / f"{what}.log")
                if path.exists()
            )
            raise RuntimeError(f"{what} does not come up:\n{said}")
        time.sleep(0.2)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    with one_node(Path(sys.argv[1]).absolute()) as found:
        print(" ".join(f"{name}={value}" for name, value in found.items()), flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
