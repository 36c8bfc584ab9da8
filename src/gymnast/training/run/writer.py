"""Writes a run's checkpoints, log and registry entry while it trains."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from gymnast.config.dump import dump_config
from gymnast.envs.contract import EnvFailure
from gymnast.errors import RunFailed
from gymnast.metrics.sinks.sink import Sinks
from gymnast.parts.reward_scale import scale_in
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints, prune, save_checkpoint
from gymnast.runs.files import write_atomic
from gymnast.runs.store import RunFolder
from gymnast.training.evaluator import Result, Scored
from gymnast.training.report import Report
from gymnast.training.run.outcome import Outcome
from gymnast.training.run.videos import RunVideos
from gymnast.training.session import Session

Row = dict[str, Any]
BEFORE_EVALUATION = "before evaluation"
LEAST_SECONDS = 2.0  # between checkpoints of new best scores: early in a run there are many per second


class RunWriter:
    """Decides nothing but when a checkpoint is due."""

    def __init__(
        self,
        run: RunFolder,
        session: Session,
        log: Callable[[str], None],
        sync_metrics: Callable[[], None],
        row: Row,
        sinks: Sinks | None = None,
    ) -> None:
        self.run = run
        self._sinks = sinks
        self.log = log
        self._sync_metrics = sync_metrics
        self.videos = RunVideos(run, session.config, None if sinks is None else sinks.video)
        self._settings = session.config.checkpoint
        self._config = dump_config(session.config)
        self._saved_steps = session.state.env_steps
        self._saved_at = time.monotonic()
        self._row = row
        self._session = session
        self._scoring: dict[str, Any] | None = None  # the state whose score is pending
        # The step of a checkpoint that is to be replaced by one with its update's row and score.
        self._unscored_at = None if session.unscored is None else session.state.env_steps
        self._best: tuple[dict[str, Any], float] | None = None  # the best state, not yet on disk

    def started(self, notices: list[str]) -> None:
        """The run has started. If its weights come from another run, they are saved at once."""
        state = self._session.state
        self._register(
            status="running",
            reason=None,
            best_score=state.best_score,
            last_score=state.last_score,
            solved=state.solved,
        )
        self.log("started: " + "; ".join(notices) if notices else "started")
        if "init_from" in self.run.info() and not list_checkpoints(self.run):
            self._save(self._bundle(), None, "start")

    def take(self, report: Report) -> None:
        """The report of the update whose state a checkpoint would hold now."""
        self._row = dict(report.row)

    def save_before_evaluation(self, report: Report) -> None:
        """The first evaluation may hang, or be killed: what was trained before it is on disk by then.

        Its metrics row is not, so a resume from here evaluates first.
        """
        if self._session.config.eval.background or self._unscored_at is not None:
            return
        self._unscored_at = -1  # only before the first
        if any(checkpoint.env_steps for checkpoint in list_checkpoints(self.run)):
            return
        saved = self._saved_steps, self._saved_at
        self.take(report)
        self._save(self._bundle(), None, BEFORE_EVALUATION)
        self._saved_steps, self._saved_at = saved  # it delays no other
        self._unscored_at = self._session.state.env_steps

    def save_if_due(self, scored: Scored, *, asked: bool) -> None:
        """A checkpoint after a new best score, by steps, by time, or because someone asked; and a video of
        what was scored, if the config asks for one."""
        self._save_if_due(scored.result, scored.best, asked)
        if scored.result is not None:
            self._record_video(scored.result, scored.best)
        if scored.begun:
            self._scoring = self._bundle()  # the weights being scored in the background may turn out best

    def _save_if_due(self, result: Result | None, best: bool, asked: bool) -> None:
        settings, steps = self._settings, self._session.state.env_steps
        since = time.monotonic() - self._saved_at
        if result is not None and best:
            self.note_best(result)
        if asked:
            reason = "user"
        elif settings.every and steps // settings.every > self._saved_steps // settings.every:
            reason = "every"
        elif settings.seconds and since >= settings.seconds:
            reason = "time"
        else:
            if self._best is not None and since >= LEAST_SECONDS:
                self.save_best()
            return
        self.save_best()
        if not self._is_saved():
            score = result.score.mean if result is not None and result.env_steps == steps else None
            self._save(self._bundle(), score, reason)

    def note_best(self, result: Result) -> None:
        """Keep the state that scored best, to be written soon: in memory it costs nothing."""
        if result.env_steps == self._session.state.env_steps:
            bundle = self._bundle()
        else:  # scored in the background: those weights are older
            assert self._scoring is not None
            bundle, state = self._scoring, self._session.state
            bundle["metrics"] |= result.score.metrics() | {  # not those of a score that arrived back then
                "eval/env_steps": result.env_steps,
                "eval/solved": self._session.solves(result.score),
                "eval/best": state.best_score,
            }
            bundle["state"]["counters"] |= {  # a resume from here must not forget the score
                "best_score": state.best_score,
                "best_solves_all": state.best_solves_all,
                "last_score": state.last_score,
                "solved": state.solved,
            }
        self._best = (bundle, result.score.mean)

    def _record_video(self, result: Result, best: bool) -> None:
        """A video of the weights that have just been evaluated, where the config asks for one."""
        s = self._session
        scale = scale_in(self._row, next(iter(s.spec.tasks), None)) if s.learner.uses_critic else None
        self.videos.after_evaluation(s.learner.policy, result, best, scale)

    def save_last(self, reason: str) -> None:
        """The best and the final state, unless they are on disk already."""
        self.save_best()
        if self._session.state.updates and not self._is_saved():
            self._save(self._bundle(), None, reason)

    def failed(self, failure: EnvFailure) -> RunFailed:
        """Save the last complete update; returns an error that names what failed and where."""
        s, saved = self._session, "nothing was learned yet"
        if s.state.updates:
            self.save_best()
            if not self._is_saved():
                self._save(self._bundle(with_envs=False), None, "failure")
            saved = f"everything up to step {s.state.env_steps:,} is saved"
        step = s.state.env_steps + (s.source.steps_done + 1) * s.envs.n_envs
        return RunFailed(f"{s.config.env.id}: {failure} in step {step:,}; {saved}")

    def finish(self, outcome: Outcome) -> None:
        """The run's final registry entry."""
        self._write_alerts()
        self._register(
            status="finished" if outcome.status == "solved" else outcome.status,
            reason=outcome.reason,
            env_steps=outcome.env_steps,
            seconds=outcome.seconds,
            best_score=outcome.best_score,
            last_score=outcome.last_score,
            solved=outcome.solved,
        )
        self.log(f"{outcome.status}: {outcome.reason}")

    def _is_saved(self) -> bool:
        known, steps = list_checkpoints(self.run), self._session.state.env_steps
        return bool(known) and known[-1].env_steps == steps != self._unscored_at

    def _bundle(self, *, with_envs: bool = True) -> dict[str, Any]:
        s = self._session
        return {
            "env_steps": s.state.env_steps,
            "policy": s.learner.policy.arrays(),
            "state": s.training_state(with_envs=with_envs),
            "counters": s.state.counters(s.budget.progress(s.state)) | s.learner.counters(),
            "metrics": dict(self._row),
            "scores_from": s.state.scores_from,
        }

    def save_best(self) -> None:
        """Write the best state, if it is not on disk yet."""
        if self._best is not None:
            bundle, score = self._best
            self._best = None
            self._save(bundle, score, "best")

    def _save(self, bundle: dict[str, Any], score: float | None, reason: str) -> None:
        self._sync_metrics()  # rows first: a checkpoint must never know more than the metrics do
        save_checkpoint(self.run, **bundle, score=score, reason=reason, config=self._config)
        prune(self.run, self._settings.keep)
        self._write_alerts()
        state = self._session.state
        self._saved_steps, self._saved_at = state.env_steps, time.monotonic()
        self._register(
            status="running",
            env_steps=state.env_steps,
            seconds=state.seconds,
            best_score=state.best_score,
            last_score=state.last_score,
            solved=state.solved,
        )
        shown = "" if score is None else f", score {score:g}"
        self.log(f"checkpoint {bundle['env_steps']} ({reason}{shown})")
        if self._sinks is not None:
            self._sinks.checkpoint(bundle["env_steps"], reason)

    def _write_alerts(self) -> None:
        """What was found of the run's health so far, beside its metrics."""
        monitor = self._session.monitor
        if monitor is not None:
            alerts = [alert.to_json() for alert in monitor.raised()]
            write_atomic(self.run.alerts_path, json.dumps({"alerts": alerts}, indent=1), durable=False)

    def _register(self, **fields: Any) -> None:
        registry.update(self.run.root, self.run.id, **fields)
