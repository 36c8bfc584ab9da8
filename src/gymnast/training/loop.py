"""The training loop. Read this file first: all of training happens here, in this order."""

from __future__ import annotations

import math
import time
from types import MappingProxyType
from typing import Any

import numpy as np

from gymnast.envs.contract import EnvFailure
from gymnast.errors import RunFailed
from gymnast.metrics.sinks.console import Console
from gymnast.training.evaluator import Result
from gymnast.training.hooks import Adjust, Report, describe_adjustment
from gymnast.training.requests import Request, Requests
from gymnast.training.rollout_metrics import hyperparameter_metrics, rollout_metrics, target_metrics
from gymnast.training.run.outcome import Outcome, Status
from gymnast.training.run.signals import StopRequest
from gymnast.training.run.writer import RunWriter
from gymnast.training.scoring import Scored, evaluate_if_due
from gymnast.training.session import Session
from gymnast.training.update import update


def run_loop(
    s: Session, writer: RunWriter, console: Console, requests: Requests, stop: StopRequest
) -> Outcome:
    """Train until the budget is spent, a stop rule fires, or someone asks to stop."""
    state = s.state
    began = time.perf_counter() - state.seconds
    status: Status = "finished"
    reason = s.budget.spent(state)
    while reason is None:
        update_began = time.perf_counter()
        hp = s.adjustments.applied(s.algo.hyperparameters(state.env_steps, s.budget.schedule_steps))
        rng_before = s.rng.bit_generator.state
        try:
            rollout, episodes = s.collector.collect(s.policy, s.rng, console.collecting)
        except EnvFailure as failure:
            s.rng.bit_generator.state = rng_before
            raise writer.failed(failure) from failure
        collected = time.perf_counter()

        row: dict[str, Any]
        with np.errstate(over="ignore", invalid="ignore"):  # a loss that is no number is told below
            row = rollout_metrics(rollout)
            if "workers" in s.envs.backend:  # of some tasks of a mix, or of all
                row["env/restarts"] = s.envs.restarts
            if s.reward_scale is not None:
                row["env/reward_scale"] = s.reward_scale.apply(rollout, hp.gamma)
                row |= s.reward_scale.metrics()
            batch = s.algo.targets(rollout, hp)
            row |= target_metrics(batch, s.algo.uses_critic)
            if s.policy.popart is not None and s.algo.uses_critic:
                batch = s.policy.popart.normalize(batch)
                row |= {"train/popart/mean": s.policy.popart.mean, "train/popart/std": s.policy.popart.std}
            stats = update(s.policy, s.optimizer, s.algo, batch, hp, s.batch_size, s.rng)
        if not all(
            math.isfinite(stats.metrics.get(key, 0.0)) for key in ("train/loss/total", "opt/grad_norm")
        ):
            raise RunFailed(
                f"the loss is no number any more in update {state.updates + 1}, "
                f"after step {state.env_steps:,}; checkpoints before it are intact. "
                "A lower algo.lr, a lower algo.max_grad_norm or "
                "policy.normalize_obs=running may help"
            )
        s.policy.preprocessor.observe(rollout.obs[:-1])  # statistics move between updates, never within one

        steps_before = state.env_steps
        state.env_steps += rollout.rewards.size
        state.vec_steps += len(rollout.rewards)
        state.updates += 1
        state.epochs += stats.epochs
        state.episodes += len(episodes)
        state.kl_stops += stats.stopped_by_kl
        state.recent.extend(episodes)
        if s.tasks is not None:
            s.tasks.take(episodes)
        updated = time.perf_counter()

        commands = requests.poll()
        state.seconds = time.perf_counter() - began
        due = s.eval_schedule.due(state, steps_before) or Request.EVALUATE in commands
        scored, failed = Scored(), None
        try:
            scored = evaluate_if_due(s, due, writer.note_best, console.evaluating)
        except RunFailed as error:
            failed = error  # raised below, once this update is on disk
        result = scored.result
        state.seconds = time.perf_counter() - began

        row |= state.counters(s.budget.progress(state)) | state.returns() | stats.metrics
        row |= hyperparameter_metrics(hp) | {
            "train/epochs_done": stats.epochs,
            "train/kl_stops": state.kl_stops,
            "time/fps": rollout.rewards.size / max(updated - update_began, 1e-9),
            "time/collect_seconds": collected - update_began,
            "time/update_seconds": updated - collected,
        }
        if result is not None:
            row |= result.score.metrics() | {"eval/env_steps": result.env_steps}
            row["eval/solved"] = s.solves(result.score)
        if state.best_score is not None:
            row["eval/best"] = state.best_score
        if s.tasks is not None:
            row |= s.tasks.metrics()
        wanted = [
            command
            for hook in s.hooks
            for command in hook.after_update(Report(state.env_steps, state.updates, MappingProxyType(row)))
        ]
        for hook in s.hooks:
            row |= hook.metrics()
        writer.record(row)
        console.updated(row)
        stopped_by_hook = None
        for command in wanted:
            if isinstance(command, Adjust):
                s.adjustments.take(command)
                said = describe_adjustment(command)
            else:
                stopped_by_hook = said = command.why
            writer.log(f"intervention at step {state.env_steps:,}: {said}")
            console.note(f"step {state.env_steps:,}: {said}")

        if failed is not None:
            writer.save_last("failure")
            raise failed
        asked = Request.CHECKPOINT in commands
        writer.save_if_due(result, scored.best, asked)
        if result is not None:
            writer.record_video_if_wanted(result, scored.best)
        if asked:
            console.note(f"checkpoint saved at step {state.env_steps:,}")
        if scored.begun:
            writer.remember()  # the very weights that are being scored, should they turn out best
        reason, status = _why_stop(s, result, stop, commands)
        if reason is None and stopped_by_hook is not None:
            reason = stopped_by_hook
        if Request.PAUSE in commands and reason is None:
            seconds, commands = _pause(console, requests, stop)
            began += seconds
            reason, status = _why_stop(s, None, stop, commands)

    writer.save_last(status)
    return Outcome(
        status, reason, state.env_steps, state.seconds, state.best_score, state.last_score, state.solved
    )


def _why_stop(
    s: Session, result: Result | None, stop: StopRequest, commands: set[Request]
) -> tuple[str | None, Status]:
    """The reason to end here, if there is one, and what that makes of the run."""
    if result is not None and (reason := s.ended_by(result.score)) is not None:
        return reason, "solved" if s.state.solved else "finished"
    if (over := s.over()) is not None:
        return over, "finished"
    if stop.requested is not None:
        return f"stopped by {stop.requested}", "interrupted"
    if Request.STOP in commands:
        return "stopped by the q key", "interrupted"
    return None, "finished"


def _pause(console: Console, requests: Requests, stop: StopRequest) -> tuple[float, set[Request]]:
    """Wait until told to go on: the seconds that must not count as training, and what was asked for."""
    paused_at = time.perf_counter()
    commands: set[Request] = set()
    console.paused(True)
    while stop.requested is None and not commands & {Request.PAUSE, Request.STOP}:
        commands = requests.wait(0.2)
    console.paused(False)
    return time.perf_counter() - paused_at, commands
