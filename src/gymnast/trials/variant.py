"""What a search found as a config file: it extends what was searched, and has the changed settings alone."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.redact import redact
from gymnast.runs.files import write_atomic, write_failed


def variant_text(reference: str | None, changes: Mapping[str, Any], provenance: Sequence[str]) -> str:
    """A config that trains `reference` with these settings, by dotted key, or these settings alone; each line
    of the provenance is a comment at its head."""
    from ruamel.yaml import YAML

    nested: dict[str, Any] = {}
    for key, value in changes.items():
        *path, last = key.split(".")
        place = nested
        for part in path:
            inside = place.setdefault(part, {})
            if not isinstance(inside, dict):
                raise GymnastError(f"{key}: {part} is set to a value as well as to a map")
            place = inside
        place[last] = value
    head = "".join(f"# {redact(' '.join(line.split()))}\n" for line in provenance)
    text = io.StringIO()
    YAML().dump(nested if reference is None else {"extends": reference, **nested}, text)
    return head + text.getvalue()


def write_variant(
    path: Path,
    reference: str | None,
    changes: Mapping[str, Any],
    provenance: Sequence[str],
    if_taken: str = "name another file",
) -> Path:
    """Write it, if it loads; GymnastError if there is a file of that name already."""
    if path.exists():
        raise GymnastError(f"{path} exists already; {if_taken}")
    draft = path.with_name(f".{path.stem}.new{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(draft, variant_text(reference, changes, provenance))
        load_config(str(draft))
        draft.rename(path)
    except OSError as error:
        raise write_failed(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return path
