"""The recordings that are looked at, kept in memory: another γ must not read 20 MB from the disk again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from gymnast import api
from gymnast.api import Recording

_MOST = 3
_MOST_BYTES = 200_000_000


class LoadedRecordings:
    """A few of them, those used last; far fewer where they are large. Those that were `opened` lie in no run,
    and stay."""

    def __init__(self, runs_dir: Path, opened: Sequence[Recording] = ()) -> None:
        self._runs_dir = runs_dir
        self.opened = {recording.info.id: recording for recording in opened}
        self._known: OrderedDict[str, Recording] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, recording_id: str) -> Recording:
        """GymnastError if there is none, or it is damaged."""
        if (opened := self.opened.get(recording_id)) is not None:
            return opened
        api.recording_info(recording_id, runs_dir=self._runs_dir)  # it may have been removed since
        with self._lock:
            if (known := self._known.get(recording_id)) is not None:
                self._known.move_to_end(recording_id)
                return known
        recording = api.load_recording(recording_id, runs_dir=self._runs_dir)
        with self._lock:
            self._known[recording_id] = recording
            while len(self._known) > _MOST or (len(self._known) > 1 and self._bytes() > _MOST_BYTES):
                self._known.popitem(last=False)
        return recording

    def forget(self, recording_id: str) -> None:
        with self._lock:
            self._known.pop(recording_id, None)

    def _bytes(self) -> int:
        return sum(
            sum(map(len, known.pictures)) + sum(column.nbytes for column in known.trace.columns.values())
            for known in self._known.values()
        )
