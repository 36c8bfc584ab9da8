"""Classes by import path, `package.module:Class`, also from the user's working directory."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gymnast.errors import GymnastError, did_you_mean


def import_module(name: str, needed_for: str) -> ModuleType:
    """Import `name`, looking into the working directory too, as `python -m` would."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise GymnastError(
                f"{needed_for}: there is no module '{error.name}' in {here} nor among the installed packages"
            ) from error
        raise GymnastError(f"{needed_for}: importing '{name}' failed: {error}") from error
    except (Exception, SystemExit) as error:
        raise GymnastError(
            f"{needed_for}: importing '{name}' raised {type(error).__name__}: {error}"
        ) from error


def load_class(path: str, base: type[Any], what: str) -> type[Any]:
    """The class at `package.module:Class`, checked to be a `base`; `what` names it in messages."""
    module_name, _, class_name = path.partition(":")
    module = import_module(module_name, f"{what} '{path}'")
    found = vars(module).get(class_name)
    if isinstance(found, type) and issubclass(found, base):
        return found
    valid = [
        name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)
    ]
    problem = (
        f"has no '{class_name}'"
        if found is None
        else f"has '{class_name}', but it is not a {base.__name__} class"
    )
    raise GymnastError(f"{what} '{path}': module '{module_name}' {problem}{did_you_mean(class_name, valid)}")
