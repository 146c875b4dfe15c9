"""Run as a script in the program's process: calls the function that a run names as its entry."""

import importlib
import json
import sys

NO_SUCH_ENTRY = 97


def main() -> int:
    """Import ``module.function`` (argv 1) and call it with keyword arguments (argv 2, JSON)."""
    module_name, _, function_name = sys.argv[1].rpartition(".")
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            print(f"no module named {error.name}", file=sys.stderr)
            return NO_SUCH_ENTRY
        raise
    except AttributeError:
        print(f"module {module_name} has no {function_name}", file=sys.stderr)
        return NO_SUCH_ENTRY
    arguments = json.loads(sys.argv[2])
    sys.argv[1:] = []
    function(**arguments)
    return 0


if __name__ == "__main__":
    # The script's own folder would hide the program's modules.
    sys.path.pop(0)
    sys.exit(main())
