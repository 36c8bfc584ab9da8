"""Classes by import path, `package.module:Class`, also from the user's working directory.

Only what a user names is looked for in the working directory, after everything that is installed: a file
`random.py` that lies there replaces nothing.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from gymnast.errors import GymnastError, did_you_mean


def locate_module(name: str) -> str | None:
    """The file that `import_module` would import, found without importing anything, not even the packages
    that the module is in."""
    return _find(name) or _find(name, str(Path.cwd()))


def _find(name: str, folder: str | None = None) -> str | None:
    """The file (or folder) of a module: as `import` finds it, or within one folder."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    path: list[str] | None = sys.path if folder is None else [folder]
    origin: str | None = None
    for depth, part in enumerate(parts, start=1):
        outer = path
        if outer is None:
            return None  # inside a module that is not a package
        try:
            spec = _first_spec(".".join(parts[:depth]), outer, files_only=folder is not None)
            if spec is None:
                return None
            inside = spec.submodule_search_locations
            origin, path = spec.origin, None if inside is None else list(inside)
        except KeyError:  # a package without __init__.py in another: Python asks for the outer one's module
            folders = [Path(place) / part for place in outer]
            origin, path = None, [str(place) for place in folders if place.is_dir()]
        except (ImportError, OSError, ValueError):
            return None
    return origin or (path[0] if path else None)


def _first_spec(name: str, path: list[str], *, files_only: bool) -> ModuleSpec | None:
    """The answer of the first finder that knows the module."""
    for finder in () if files_only else sys.meta_path:
        spec = finder.find_spec(name, None if path is sys.path else path)
        if spec is not None:
            return spec
    return PathFinder.find_spec(name, path) if files_only else None


def import_module(name: str, needed_for: str) -> ModuleType:
    """Import `name`; one that is not installed from the working directory, which goes to the path's end."""
    here = str(Path.cwd())
    if _find(name) is None and _find(name, here) is not None:
        sys.path.append(here)
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
    raise GymnastError(
        f"{what} '{path}': module '{module_name}' {problem}{did_you_mean(class_name, valid)}"
        f"{_shadowed(module_name, module)}"
    )


def _shadowed(name: str, module: ModuleType) -> str:
    """A hint for a file in the working directory that was not imported, since an installed module has its
    name."""
    own, used = _find(name, str(Path.cwd())), module.__file__
    if own is None or used is None or Path(own).resolve() == Path(used).resolve():
        return ""
    return f"; it is {used}, which comes before {own}: rename yours"
