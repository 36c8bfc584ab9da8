"""How often each arm (symptom → edit) won and lost, kept in the user's state folder across projects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError
from gymnast.runs.files import read_json, refuse_irregular, write_atomic
from gymnast.runs.marks import state_folder

_MOST = 1000  # arms that are remembered


class Arms:
    """Beta counts: an arm that was never tried has one win and one loss."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or state_folder() / "tune-arms.json"

    def counts(self) -> dict[str, tuple[float, float]]:
        """(wins, losses) by arm; a file that is damaged says nothing."""
        document = read_json(self._path) or {}
        found: dict[str, tuple[float, float]] = {}
        items: Any = document.get("arms")
        for arm, pair in items.items() if isinstance(items, dict) else ():
            if isinstance(pair, list) and len(pair) == 2 and all(_is_count(number) for number in pair):
                found[str(arm)[:100]] = (float(pair[0]), float(pair[1]))
        return dict(list(found.items())[:_MOST])

    def take(self, results: dict[str, bool]) -> None:
        """Add what one race said: won or lost. A state folder that cannot be written is no reason to end."""
        if not results:
            return
        try:
            with self._locked():
                known = self.counts()
                for arm, won in results.items():
                    wins, losses = known.get(arm, (0.0, 0.0))
                    known[arm] = (wins + won, losses + (not won))
                document = {"arms": {arm: list(pair) for arm, pair in known.items()}}
                write_atomic(self._path, json.dumps(document, indent=1) + "\n", durable=False)
        except (OSError, GymnastError):
            return

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_path = self._path.with_suffix(".lock")
        refuse_irregular(lock_path)
        try:
            with FileLock(lock_path).acquire(timeout=10):
                yield
        except Timeout:
            raise GymnastError(f"another process has held {lock_path} for 10 s") from None


def _is_count(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e9
