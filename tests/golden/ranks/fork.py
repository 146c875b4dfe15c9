"""`python fork.py N PROGRAM ARGUMENTS`: as torchrun, but torch is imported once, before ranks are forked."""

import os
import random
import runpy
import socket
import sys

import torch
import torch._dynamo  # what makes a rank slow to start

ranks, program = int(sys.argv[1]), sys.argv[2]
sys.argv[:] = sys.argv[2:]
free = socket.socket()
# While it is open no other process is given its port; rank 0 may listen there.
free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
free.bind(("127.0.0.1", 0))
port = free.getsockname()[1]
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
children = []
for rank in range(ranks):
    child = os.fork()
    if child == 0:
        # Python seeds it anew in what is forked.
        random.seed(0)
        # Makes torch's thread pool anew, before the threads of its backward pass do so all at once and abort.
        torch.set_num_threads(1)
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        runpy.run_path(program, run_name="__main__")
        sys.exit(0)
    children.append(child)
failed = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.exit(max(map(abs, failed)))
