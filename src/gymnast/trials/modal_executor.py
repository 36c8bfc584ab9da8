"""Trials on Modal: one order per leg, each on a machine of its size; the volume has the runs.

A trial there is a remote run like any other (remote/): it survives the end of this process, and whoever
orders it again finds it at work, or done. It comes here, whole, when its leg ends, and now and then before
that, so that runs that are far behind can be given up.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.remote import modal_client
from gymnast.remote.index import forget_remote
from gymnast.remote.launch import LEAST_SECONDS, Plan, Wishes, deploy, make_plan, noted, order
from gymnast.remote.pull import pull_run
from gymnast.remote.state import RemoteState, state_from, state_name
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import runs_root
from gymnast.trials.trial import Trial, TrialState, TrialStatus

LOOK_SECONDS = 2.0  # between two looks at what a machine wrote down
_PULL_SECONDS = 20.0  # at least, between two copies of a run that is being trained
_PULL_SHARE = 0.05  # of the time that they may take
_ASK_SECONDS = 15.0  # without a word, until Modal is asked whether the call is still there
_CLOSE_SECONDS = 60.0  # for machines to save
_PATIENCE_SECONDS = 300.0  # that Modal may be out of reach
_LATE = 60.0  # seconds that a sign of progress may take to arrive, beside what a trial allows

_ENDED: dict[str, TrialStatus] = {
    "done": "finished",
    "failed": "failed",
    "paused": "paused",
    "stopped": "stopped",
    "crashed": "lost",
}


@dataclass(slots=True)
class _Leg:
    """A trial that Modal has, or is about to have."""

    trial: Trial
    plan: Plan
    call: str
    old_call: str = ""  # what the volume says of that one is not of this leg
    state: RemoteState | None = None
    heard: float = field(default_factory=time.monotonic)  # when it made progress last
    looked: float = 0.0
    asked: float = field(default_factory=time.monotonic)
    pulled: int = 0  # the step at which it came here last
    pull_at: float = 0.0  # when it may come again
    stopping: str | None = None  # why, once it is to end
    stopped: float = 0.0  # when it was asked to

    @property
    def most_dollars(self) -> float | None:
        """What this run may have cost when the leg ends."""
        most = self.plan.spec.max_seconds
        return None if most is None else self.plan.spec.dollars_per_hour * most / 3600


class ModalExecutor:
    """An `Executor`. `workers` machines train at once, together for at most `wishes.max_cost` dollars, about.

    `known` are the runs whose cost counts already. Raises GymnastError before anything is started if there is
    no account, or no trial of this reference could train there.
    """

    def __init__(
        self,
        workers: int,
        runs_dir: str | Path | None = None,
        *,
        wishes: Wishes | None = None,
        example: Trial,
        runs: int = 0,
        known: Iterable[str] = (),
        notify: Callable[[str], None] = lambda text: None,
    ) -> None:
        if workers < 1:
            raise GymnastError(f"{workers} workers cannot train anything; give a number from 1")
        if example.init_from is not None:
            raise GymnastError(
                "--from does not work with --on modal yet: the other run's weights are not there"
            )
        modal_client.connect()  # before what takes a while
        self._root = runs_root(runs_dir).resolve()
        self._wishes = wishes or Wishes()
        self._capacity = workers
        self._queue: deque[Trial] = deque()
        self._running: dict[str, _Leg] = {}
        self._changed: dict[str, TrialState] = {}
        self._spent: dict[str, float] = {}  # dollars, by run
        self._closed = False
        self._failing = 0.0  # since when Modal cannot be reached
        plan = self._plan(example, self._wishes)  # refuses what does not pay for a minute
        for line in _estimate(plan, runs, workers, self._wishes.max_cost):
            notify(line)
        if self._wishes.max_cost is not None:
            for run_id in known:
                self._count(_read(run_id), plan.spec.dollars_per_hour)
        self._least = plan.spec.dollars_per_hour * LEAST_SECONDS / 3600
        if (why := self.exhausted) is not None:
            raise GymnastError(f"{why}; give --max-cost more")
        deploy(notify)

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def exhausted(self) -> str | None:
        """Why nothing more can be trained, if the money is spent."""
        if self._wishes.max_cost is None or self._running or self._open_dollars() >= self._least:
            return None
        return f"${sum(self._spent.values()):.2f} of the ${self._wishes.max_cost:.2f} are spent"

    def submit(self, trial: Trial) -> None:
        if self._closed:
            raise GymnastError("this executor is closed")
        if not RUN_ID.fullmatch(trial.run_id):
            raise GymnastError(f"{trial.run_id!r} is not a run id")
        if trial.run_id in self._running or any(known.run_id == trial.run_id for known in self._queue):
            raise GymnastError(f"run {trial.run_id} is being trained by this executor already")
        self._queue.append(trial)
        self._say(trial, "queued")
        with self._patience():
            self._hand_out()

    def poll(self, seconds: float = 0.0) -> list[TrialState]:
        deadline = time.monotonic() + seconds
        while True:
            with self._patience():
                for leg in list(self._running.values()):
                    if time.monotonic() - leg.looked >= LOOK_SECONDS:
                        self._look(leg)
                self._hand_out()
            left = deadline - time.monotonic()
            if self._changed or left <= 0 or not self._running:
                break
            time.sleep(min(left, 0.2))
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def stop(self, run_id: str) -> None:
        for trial in [trial for trial in self._queue if trial.run_id == run_id]:
            self._queue.remove(trial)
            self._say(trial, "stopped", message="it had not begun")
        leg = self._running.get(run_id)
        if leg is not None and leg.stopping is None:
            with self._patience():
                self._cancel(leg, "stopped on request")

    def close(self) -> None:
        """Have all machines save and end."""
        self._closed = True
        self._queue.clear()
        for run_id in list(self._running):
            self.stop(run_id)
        deadline = time.monotonic() + _CLOSE_SECONDS
        while self._running and time.monotonic() < deadline:
            with self._patience():
                for leg in list(self._running.values()):
                    self._look(leg)
            time.sleep(0.2)

    def __enter__(self) -> ModalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Machines train on while Modal cannot be reached from here for a while."""
        try:
            yield
        except GymnastError:
            self._failing = self._failing or time.monotonic()
            if self._closed or time.monotonic() - self._failing > _PATIENCE_SECONDS:
                raise
        else:
            self._failing = 0.0

    # Starting

    def _plan(self, trial: Trial, wishes: Wishes) -> Plan:
        """How the trial would train there; GymnastError if it cannot."""
        resolved = load_config(
            trial.reference, trial.overrides, config_dirs=list(map(Path, trial.config_dirs))
        )
        plan = make_plan(resolved, self._root, trial.run_id, True, wishes)
        spec = replace(plan.spec, stop_at=trial.stop_at, retry_crashes=False)
        return replace(plan, spec=spec)

    def _hand_out(self) -> None:
        while self._queue and len(self._running) < self._capacity and not self._closed:
            share = self._share()
            if share is not None and share < self._least and self._running:
                return  # what those leave over is shared again
            if share is not None and share < self._least:
                share = self._open_dollars()
                if share < self._least:
                    return
            state = _read(self._queue[0].run_id)
            trial = self._queue.popleft()
            try:
                plan = self._plan(trial, replace(self._wishes, max_cost=None))
            except GymnastError as error:
                self._say(trial, "failed", message=str(error))
                continue
            self._count(state, plan.spec.dollars_per_hour)
            if share is not None:
                seconds = (state.seconds if state else 0.0) + share / plan.spec.dollars_per_hour * 3600
                plan = replace(plan, spec=replace(plan.spec, max_seconds=seconds))
            try:
                leg = self._begin(trial, plan, state)
            except GymnastError:  # of Modal
                self._queue.appendleft(trial)
                raise
            self._running[trial.run_id] = leg
            self._say(trial, "running", leg.state.env_steps if leg.state is not None else 0)

    def _begin(self, trial: Trial, plan: Plan, state: RemoteState | None) -> _Leg:
        """Order the trial, unless an earlier order is still at work on it, or has reached its end."""
        if state is not None and _is_answer(state, trial):
            return _Leg(trial, plan, state.call, state=state)
        before = noted(self._root, trial.run_id)
        call = state.call if state is not None else before.call if before is not None else ""
        over = state is not None and state.is_over()
        if call and not over and modal_client.call_status(call) == "pending":
            return _Leg(trial, plan, call)
        return _Leg(trial, plan, order(plan, self._root).call, old_call=call)

    # Watching

    def _look(self, leg: _Leg) -> None:
        """What became of a leg since the last look."""
        now = leg.looked = time.monotonic()
        state = _read(leg.trial.run_id)
        if state is not None and state.call != leg.old_call:
            leg.call = state.call
            if (
                leg.state is None
                or state.env_steps > leg.state.env_steps
                or state.attempts > leg.state.attempts
            ):
                leg.heard = now
                self._say(leg.trial, "running", state.env_steps)
            leg.state = state
            self._count(state, leg.plan.spec.dollars_per_hour)
            if state.is_over():
                self._end(leg, state)
                return
        wait = _ASK_SECONDS if leg.stopping is None else LOOK_SECONDS
        late = leg.stopping is not None and now - leg.stopped > _CLOSE_SECONDS
        if (leg.state is None or not leg.state.is_alive() or late) and now - leg.asked > wait:
            leg.asked = now
            self._ask(leg)
        if leg.trial.run_id in self._running:
            self._watch(leg, now)

    def _ask(self, leg: _Leg) -> None:
        """Whether Modal still has a call that says nothing."""
        status = modal_client.call_status(leg.call)
        if status == "pending":
            return
        state = _read(leg.trial.run_id)  # it may have written down how it ended just now
        if state is not None and state.call != leg.old_call and (state.is_over() or state.state == "again"):
            return
        if status == "terminated":
            self._end(
                leg, replace(state or RemoteState(leg.trial.run_id), state="stopped", reason="cancelled")
            )
        else:
            why = f"its call on Modal ended: {status or 'it is not known there'}"
            self._end(leg, replace(state or RemoteState(leg.trial.run_id), state="crashed", reason=why))

    def _watch(self, leg: _Leg, now: float) -> None:
        limit = leg.trial.no_progress_limit
        if limit is not None and leg.state is not None and now - leg.heard > limit + _LATE:
            self._cancel(leg, f"no progress for {limit:g} s")
        steps = 0 if leg.state is None else leg.state.env_steps
        if steps > leg.pulled and now >= leg.pull_at:
            leg.pulled = steps
            with suppress(GymnastError):  # the next time, or at its end
                pull_run(leg.trial.run_id, self._root, _volume())
            took = time.monotonic() - now
            leg.pull_at = now + max(_PULL_SECONDS, took / _PULL_SHARE)

    def _cancel(self, leg: _Leg, why: str) -> None:
        if leg.stopping is None:
            modal_client.cancel(leg.call)
            leg.stopping, leg.stopped = why, time.monotonic()

    def _end(self, leg: _Leg, state: RemoteState) -> None:
        """A leg is over, unless it only used up its share of the money."""
        trial = leg.trial
        del self._running[trial.run_id]
        if state.state == "limit":
            self._queue.appendleft(trial)
            return
        status, message = _ENDED[state.state], state.reason
        if leg.stopping is not None and leg.stopping.startswith("no progress") and status == "stopped":
            status, message = "failed", leg.stopping
        try:
            pull_run(trial.run_id, self._root, _volume())
        except GymnastError as error:
            if status in ("finished", "paused"):  # ordered again, it is only brought
                status, message = "lost", str(error)
        forget_remote(self._root, trial.run_id)
        self._say(trial, status, state.env_steps, message)

    # Money

    def _count(self, state: RemoteState | None, rate: float) -> None:
        if state is not None:
            self._spent[state.run] = rate * state.seconds / 3600

    def _open_dollars(self) -> float:
        """What nobody has spent or may still spend."""
        assert self._wishes.max_cost is not None
        running = {run_id: leg.most_dollars or 0.0 for run_id, leg in self._running.items()}
        return self._wishes.max_cost - sum((self._spent | running).values())

    def _share(self) -> float | None:
        """What the next leg may cost: as much as each of those that can be trained beside it."""
        if self._wishes.max_cost is None:
            return None
        return self._open_dollars() / (self._capacity - len(self._running))

    def _say(self, trial: Trial, status: TrialStatus, env_steps: int = 0, message: str = "") -> None:
        self._changed[trial.run_id] = TrialState(trial.run_id, status, env_steps, message)


def _read(run_id: str) -> RemoteState | None:
    """What the machine that trains a run wrote down last."""
    values = modal_client.read_volume_json(state_name(run_id))
    return None if values is None else state_from(run_id, values)


def _is_answer(state: RemoteState, trial: Trial) -> bool:
    """Whether this is how the leg ended, under a driver that did not live to see it."""
    if state.state == "paused":
        return trial.stop_at is not None and state.env_steps >= trial.stop_at
    return state.state in ("done", "failed")


def _volume() -> str:
    from gymnast.remote.modal_app import VOLUME

    return VOLUME


def _estimate(plan: Plan, runs: int, workers: int, max_cost: float | None) -> list[str]:
    """What is printed before the start."""
    spec = plan.spec
    machine = plan.lines()[0].partition(" on Modal, ")[2]
    rate = spec.dollars_per_hour
    lines = [f"{runs} runs of {spec.name} on Modal, {workers} at once: {machine}", plan.lines()[1]]
    if plan.seconds is None:
        lines.append("what they cost is not known: nothing like it was trained here yet")
    else:
        lines.append(
            f"at the {plan.local_fps:,.0f} steps/s of this machine a run takes"
            f" {plan.seconds / 60:.1f} min: about ${runs * rate * plan.seconds / 3600:.2f} in all, if none is"
            " given up"
        )
    if max_cost is not None:
        lines.append(f"${max_cost:.2f} at most: what runs then is saved")
    return lines
