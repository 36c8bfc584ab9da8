"""/api/live: says when a watched run has moved on, or runs have come or gone. It never disturbs a run."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.inspect.context import Inspector, in_thread
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import run_folders
from gymnast.web.guard import receive_object
from gymnast.web.security import Refused
from gymnast.web.wire import json_bytes

_LOOK_SECONDS = 0.5
_MOST_WATCHED = 50


class Follower:
    """What one page watches, and what it knows of it already."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector
        self._runs: dict[str, tuple[Any, dict[str, Any] | None]] = {}  # marks of its files; what was sent
        self._folder = _mark(inspector.runs_dir)
        self._ids = self._run_ids()

    def watch(self, said: dict[str, Any]) -> None:
        wanted = said.get("watch")
        is_list = isinstance(wanted, list) and all(isinstance(name, str) for name in wanted)
        if not is_list or len(wanted or ()) > _MOST_WATCHED:
            raise Refused(400, f'send {{"watch": ["RUN", …]}} with at most {_MOST_WATCHED} runs')
        self._runs = {
            name: self._runs.get(name, (None, None))
            for name in (wanted or ())
            if RUN_ID.fullmatch(name) is not None
        }

    def news(self) -> list[dict[str, Any]]:
        """What changed since the last call."""
        found: list[dict[str, Any]] = []
        for name, (mark, sent) in list(self._runs.items()):
            with suppress(GymnastError, OSError):
                folder = self._inspector.run(name)
                new_mark = [
                    _mark(path) for path in (folder.metrics_path, folder.status_path, folder.process_path)
                ]
                # A killed run changes no file: one that trains is looked at every time.
                if new_mark == mark and sent is not None and not sent["live"]:
                    continue
                message = self._describe(name)
                self._runs[name] = (new_mark, message)
                if message != sent:
                    found.append(message)
        if self._runs_changed():
            found.append({"runs": "changed"})
        return found

    def _runs_changed(self) -> bool:
        """Whether runs came or went; other files in the folder change all the time."""
        mark = _mark(self._inspector.runs_dir)
        if mark == self._folder:
            return False
        self._folder = mark
        before, self._ids = self._ids, self._run_ids()
        return self._ids != before

    def _run_ids(self) -> set[str]:
        try:
            return {run.id for run in run_folders(self._inspector.runs_dir)}
        except GymnastError:
            return set()

    def _describe(self, name: str) -> dict[str, Any]:
        folder = self._inspector.run(name)
        entry = api.run_state(folder)
        rows = api.metrics_position(folder)
        return {
            "run": name,
            "status": entry.state,
            "live": entry.status == "running",
            "env_steps": entry.env_steps,
            "best": entry.best_score,
            "last": entry.last_score,
            "next": rows,
        }


def _mark(path: Any) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


async def follow(socket: WebSocket) -> None:
    """The handler of an admitted socket: listens and looks at the same time."""
    follower = Follower(socket.app.state.inspector)

    async def listen() -> None:
        while True:
            follower.watch(await receive_object(socket))

    async def look() -> None:
        while True:
            for message in await in_thread(follower.news):
                await socket.send_text(json_bytes(message).decode())
            await asyncio.sleep(_LOOK_SECONDS)

    tasks = {asyncio.ensure_future(listen()), asyncio.ensure_future(look())}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # raises what ended it
    finally:
        for task in tasks:
            task.cancel()
