"""The training loop. Read this file first: all of training happens here, in this order."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from gymnast.envs.contract import EnvFailure
from gymnast.errors import RunFailed
from gymnast.metrics.console import Console
from gymnast.training.describe import hyperparameter_metrics, rollout_metrics, target_metrics
from gymnast.training.evaluator import Result
from gymnast.training.keeper import Keeper
from gymnast.training.keys import Command, Control
from gymnast.training.outcome import Outcome, Status
from gymnast.training.session import Session
from gymnast.training.signals import StopRequest
from gymnast.training.update import update


def run_loop(s: Session, keeper: Keeper, console: Console, control: Control, stop: StopRequest) -> Outcome:
    """Train until the budget is spent, a stop rule fires, or someone asks to stop."""
    state = s.state
    began = time.perf_counter() - state.seconds
    status: Status = "finished"
    reason = s.budget.spent(state)
    while reason is None:
        update_began = time.perf_counter()
        hp = s.algo.hyperparameters(state.env_steps, s.budget.schedule_steps)
        rng_before = s.rng.bit_generator.state
        try:
            rollout, episodes = s.collector.collect(s.policy, s.rng, console.collecting)
        except EnvFailure as failure:
            s.rng.bit_generator.state = rng_before
            raise keeper.failed(failure) from failure
        collected = time.perf_counter()

        row: dict[str, Any] = rollout_metrics(rollout, s.collector.part_sums)
        if s.reward_scale is not None:
            row["env/reward_scale"] = s.reward_scale.apply(rollout, hp.gamma)
        batch = s.algo.targets(rollout, hp)
        row |= target_metrics(batch.advantages, batch.values, batch.returns)
        stats = update(s.policy, s.optimizer, s.algo, batch, hp, s.batch_size, s.rng)
        if not math.isfinite(stats.metrics["train/loss/total"] + stats.metrics["opt/grad_norm"]):
            raise RunFailed(
                f"the loss is no number any more in update {state.updates + 1}, after step {state.env_steps:,}; "
                "checkpoints before it are intact. A lower algo.lr, a lower algo.max_grad_norm or "
                "policy.normalize_obs=running may help"
            )
        s.policy.encoder.observe(rollout.obs[:-1])  # statistics move between updates, never within one

        steps_before = state.env_steps
        state.env_steps += rollout.rewards.size
        state.vec_steps += len(rollout.rewards)
        state.updates += 1
        state.epochs += stats.epochs
        state.episodes += len(episodes)
        state.kl_stops += stats.stopped_by_kl
        state.recent.extend(episodes)
        updated = time.perf_counter()

        commands = control.poll()
        state.seconds = time.perf_counter() - began
        due = s.eval_schedule.due(state, steps_before) or Command.EVALUATE in commands
        scored, failure = _Scored(), None
        try:
            scored = _evaluate(s, keeper, console, due)
        except RunFailed as error:
            failure = error  # raised below, once this update is on disk
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
            row["eval/solved"] = _solves(s, result)
        if state.best_score is not None:
            row["eval/best"] = state.best_score
        keeper.record(row)
        console.updated(row)

        asked = Command.CHECKPOINT in commands
        if failure is not None:
            keeper.save_last("failure")
            raise failure
        keeper.save_if_due(result, scored.best, asked=Command.CHECKPOINT in commands)
        if scored.begun:
            keeper.remember()  # the very weights that are being scored, should they turn out best
        reason, status = _why_stop(s, result, stop, commands)
        if Command.PAUSE in commands and reason is None:
            seconds, commands = _pause(console, control, stop)
            began += seconds
            reason, status = _why_stop(s, None, stop, commands)

    keeper.save_last(status)
    return Outcome(status, reason, state.env_steps, state.seconds, state.best_score, state.last_score, state.solved)


@dataclass(slots=True)
class _Scored:
    result: Result | None = None
    best: bool = False  # whether no score before was higher
    begun: bool = False  # whether the weights of this moment are being scored in the background


def _evaluate(s: Session, keeper: Keeper, console: Console, due: bool) -> _Scored:
    """A score that has arrived, or a new one if that is due. With nothing else left to do, wait for it."""
    over = _over(s) is not None
    result = s.evaluator.wait() if over else s.evaluator.poll()
    best = result is not None and _take_score(s, result)
    if not due or s.evaluator.busy:
        return _Scored(result, best)
    if result is not None and best:
        keeper.note_best(result)
    new = s.evaluator.start(s.policy, s.state.env_steps, console.evaluating)
    if new is None and over:
        new = s.evaluator.wait()
    if new is not None:
        return _Scored(new, _take_score(s, new))
    return _Scored(result, best, begun=True)


def _take_score(s: Session, result: Result) -> bool:
    """Note the score; whether it is the best so far."""
    state, mean = s.state, result.score.mean
    state.last_score = mean
    state.solved = state.solved or _solves(s, result)
    best = state.best_score is None or mean >= state.best_score
    if best:
        state.best_score = mean
    return best


def _solves(s: Session, result: Result) -> bool:
    return s.spec.solved_at is not None and result.score.mean >= s.spec.solved_at


def _why_stop(
    s: Session, result: Result | None, stop: StopRequest, commands: set[Command]
) -> tuple[str | None, Status]:
    """The reason to end here, if there is one, and what that makes of the run."""
    if result is not None and s.stop_at is not None and result.score.mean >= s.stop_at:
        reason = f"evaluation reached {result.score.mean:.4g}, {s.stop_at:g} was wanted"
        return reason, "solved" if s.state.solved else "finished"
    if (over := _over(s)) is not None:
        return over, "finished"
    if stop.requested is not None:
        return f"stopped by {stop.requested}", "interrupted"
    if Command.STOP in commands:
        return "stopped by the q key", "interrupted"
    return None, "finished"


def _over(s: Session) -> str | None:
    """Why there is nothing more to train, whatever the evaluation says."""
    wanted, train_return = s.config.stop.train_return, s.state.train_return
    if wanted is not None and train_return is not None and train_return >= wanted:
        return f"the training return reached {train_return:.4g}, {wanted:g} was wanted"
    return s.budget.spent(s.state)


def _pause(console: Console, control: Control, stop: StopRequest) -> tuple[float, set[Command]]:
    """Wait until told to go on: the seconds that must not count as training, and what was asked for."""
    paused_at = time.perf_counter()
    commands: set[Command] = set()
    console.paused(True)
    while stop.requested is None and not commands & {Command.PAUSE, Command.STOP}:
        commands = control.wait(0.2)
    console.paused(False)
    return time.perf_counter() - paused_at, commands
