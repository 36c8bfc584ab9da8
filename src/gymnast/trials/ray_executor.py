"""Trials on a Ray cluster: one task per leg, wherever Ray has a core. The runs folder is on a shared path.

A task starts a worker process of the same kind as the local pool's, so a trial that crashes or hangs ends
that process and not one of Ray's, and prints the same last words. Nothing but JSON text goes through Ray.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from gymnast.cluster.ray_session import RaySession
from gymnast.errors import GymnastError
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import runs_root
from gymnast.trials.trial import Trial, TrialState

_STOP = ".stop-"  # beside the runs, hidden: a task looks for it
_LOOK_SECONDS = 0.2


class RayExecutor:
    """An `Executor`. It joins the cluster at `address`, or at RAY_ADDRESS, else starts one on this machine.

    `workers` legs are trained at once; Ray may be given more, and holds back what it has no core for.
    """

    def __init__(
        self, workers: int, runs_dir: str | Path | None = None, *, address: str | None = None
    ) -> None:
        if workers < 1:
            raise GymnastError(f"{workers} workers cannot train anything; give a number from 1")
        self._session = RaySession(address, "trials on Ray")
        self._ray = self._session.ray
        self._root = runs_root(runs_dir).resolve()
        self._root.mkdir(parents=True, exist_ok=True)
        self._capacity = workers
        self._queue: deque[Trial] = deque()
        self._running: dict[Any, Trial] = {}  # by the reference of the task's answer
        self._changed: dict[str, TrialState] = {}
        self._closed = False
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(_train)

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def exhausted(self) -> None:
        return None

    def submit(self, trial: Trial) -> None:
        if self._closed:
            raise GymnastError("this executor is closed")
        if not RUN_ID.fullmatch(trial.run_id):
            raise GymnastError(f"{trial.run_id!r} is not a run id")
        if any(known.run_id == trial.run_id for known in (*self._queue, *self._running.values())):
            raise GymnastError(f"run {trial.run_id} is being trained by this executor already")
        _stop_path(self._root, trial.run_id).unlink(missing_ok=True)
        self._queue.append(trial)
        self._changed[trial.run_id] = TrialState(trial.run_id, "queued")
        self._hand_out()

    def poll(self, seconds: float = 0.0) -> list[TrialState]:
        if self._running:
            wait = 0.0 if self._changed else seconds
            done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=wait)
            more, _ = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
            for answer in {*done, *more}:
                self._take(answer)
        self._hand_out()
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def stop(self, run_id: str) -> None:
        for trial in [trial for trial in self._queue if trial.run_id == run_id]:
            self._queue.remove(trial)
            self._changed[run_id] = TrialState(run_id, "stopped", message="it had not begun")
        if any(trial.run_id == run_id for trial in self._running.values()):
            _stop_path(self._root, run_id).touch()

    def close(self) -> None:
        self._closed = True
        self._queue.clear()
        for trial in self._running.values():
            self.stop(trial.run_id)
        if self._running:
            self._ray.wait(list(self._running), num_returns=len(self._running), timeout=15)
        for answer, trial in self._running.items():
            with suppress(Exception):  # Ray raises many kinds; the task is given up either way
                self._ray.cancel(answer, force=True)
            _stop_path(self._root, trial.run_id).unlink(missing_ok=True)
        self._running.clear()
        self._session.leave()

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hand_out(self) -> None:
        while self._queue and len(self._running) < self._capacity:
            trial = self._queue.popleft()
            answer = self._task.remote(json.dumps(trial.to_json()), str(self._root), json.dumps(sys.path))
            self._running[answer] = trial
            self._changed[trial.run_id] = TrialState(trial.run_id, "running")

    def _take(self, answer: Any) -> None:
        trial = self._running.pop(answer)
        _stop_path(self._root, trial.run_id).unlink(missing_ok=True)
        try:
            status, env_steps, message = json.loads(self._ray.get(answer))
        except Exception as error:  # of Ray's many kinds: the node or its worker is gone
            text = str(error).strip().splitlines()
            state = TrialState(trial.run_id, "lost", message=text[0] if text else type(error).__name__)
        else:
            state = TrialState(trial.run_id, status, env_steps, message)
        self._changed[trial.run_id] = state


def _stop_path(root: Path, run_id: str) -> Path:
    return root / f"{_STOP}{run_id}"


def _train(order: str, root: str, paths: str) -> str:
    """What runs on a node: one trial in a process of its own, as the local pool has it. Modules are looked
    for where the driver does, as far as those folders are there."""
    sys.path += [path for path in json.loads(paths) if path not in sys.path and Path(path).exists()]
    from gymnast.trials.pool import LocalPool

    trial = Trial.from_json(json.loads(order))
    stop = _stop_path(Path(root), trial.run_id)
    with LocalPool(1, root) as pool:
        pool.submit(trial)
        while True:
            for state in pool.poll(_LOOK_SECONDS):
                if state.ended:
                    return json.dumps([state.status, state.env_steps, state.message])
            if stop.exists():
                pool.stop(trial.run_id)
            time.sleep(0.01)
