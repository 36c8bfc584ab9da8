"""`python -m gymnast` is the same as `gymnast`."""

import os
import sys

import gymnast


def _leave_working_directory() -> None:
    """Python puts the working directory first for `-m`: a `random.py` there would replace Python's own.

    If this package itself was found there, it goes to the end, for the processes that training starts.
    """
    # Only what Python has loaded already may be used here: pathlib could be a file in that directory.
    first = os.path.realpath(sys.path[0]) if sys.path else None
    if sys.flags.safe_path or first != os.path.realpath(os.curdir):
        return
    sys.path.pop(0)
    if os.path.realpath(f"{gymnast.__path__[0]}/..") == first:
        sys.path.append(first)


if __name__ == "__main__":
    _leave_working_directory()
    from gymnast.cli.app import main

    main()
