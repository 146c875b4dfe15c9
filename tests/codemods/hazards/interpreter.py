"""An interpreter that starts once and forks for each program; run as a script, with `-S` and `-B`.

A request is a line of a folder, files for what the program writes to its two streams, and what stands behind
`python`: a script, or `-c` and a program. The answer is the exit status.
"""

import io
import os
import sys
import types

for request in sys.stdin:
    folder, *streams, kind, program = request.rstrip("\n").split("\t")
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

os.chdir(folder)
for descriptor, path in enumerate((os.devnull, *streams)):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
sys.argv[:] = ["-c"] if kind == "-c" else [program]
sys.path[0] = "" if kind == "-c" else folder
if kind == "-c":
    code = compile(program, "<string>", "exec")
else:
    main.__file__ = f"{folder}/{program}"
    with io.open_code(main.__file__) as file:
        code = compile(file.read(), main.__file__, "exec")
exec(code, vars(main))
