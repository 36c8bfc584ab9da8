"""How this program is called, for the commands that it prints: they work as they are printed."""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import cache
from pathlib import Path


@cache
def program() -> str:
    """`gymnast` where a shell finds this one under that name, else the way it was started just now."""
    called = Path(sys.argv[0]) if sys.argv else Path()
    if called.name == "__main__.py" and called.parent.name == "gymnast":
        return f"{_python()} -m gymnast"
    if called.name != "gymnast" or not called.exists():  # a notebook, a test: nothing to go by
        return "gymnast"
    found = shutil.which("gymnast")
    return "gymnast" if found is not None and called.samefile(found) else shlex.quote(sys.argv[0])


def _python() -> str:
    """The shortest name of this interpreter that a shell finds. A link to it is another: of its own venv."""
    for name in ("python", "python3"):
        if shutil.which(name) == sys.executable:
            return name
    return shlex.quote(sys.executable or "python")


def option_for(runs_dir: Path | None) -> str:
    """` --runs-dir DIR`, where one was given."""
    return f" --runs-dir {shlex.quote(str(runs_dir))}" if runs_dir is not None else ""
