"""The training loop. Read this file first: all of training happens here, in this order."""

from __future__ import annotations

import time

from gymnast.envs.contract import EnvFailure
from gymnast.errors import RunFailed
from gymnast.metrics.sinks.console import Console
from gymnast.metrics.sinks.sink import Sinks
from gymnast.training.evaluator import Result, Scored, evaluate_if_due
from gymnast.training.hooks import Adjust, Command, Stop, consult, describe_adjustment
from gymnast.training.report import Report, Timing, make_report
from gymnast.training.requests import Request, Requests
from gymnast.training.run.outcome import Outcome, Status
from gymnast.training.run.signals import StopRequest
from gymnast.training.run.writer import RunWriter
from gymnast.training.session import Session


def run_loop(
    s: Session, writer: RunWriter, sinks: Sinks, console: Console, requests: Requests, stop: StopRequest
) -> Outcome:
    """Train until the budget is spent, a stop rule fires, or someone asks to stop."""
    state = s.state
    began = time.perf_counter() - state.seconds
    status: Status = "finished"
    reason = s.budget.spent(state)
    while reason is None:
        update_began = time.perf_counter()
        hp = s.adjustments.applied(s.learner.hyperparameters(state.env_steps, s.budget.schedule_steps))
        rng_before = s.rng.bit_generator.state
        try:
            collected = s.source.collect(s.learner.policy, s.rng, console.collecting)
        except EnvFailure as failure:
            s.rng.bit_generator.state = rng_before
            raise writer.failed(failure) from failure
        collecting_ended = time.perf_counter()

        learned = s.learner.learn(collected.rollout, hp, s.rng)
        if learned.diverged:
            raise RunFailed(
                f"the loss became NaN or infinite in update {state.updates + 1}, after step "
                f"{state.env_steps:,}; checkpoints before it are intact. A lower algo.lr, a lower "
                "algo.max_grad_norm or policy.normalize_obs=running may help"
            )
        steps_before = state.env_steps
        state.advance(collected)
        learning_ended = time.perf_counter()

        asked = requests.poll()
        state.seconds = time.perf_counter() - began
        due = s.eval_schedule.due(state, steps_before) or Request.EVALUATE in asked
        scored, failed = Scored(), None
        try:
            scored = evaluate_if_due(s, due, writer.note_best, console.evaluating)
        except RunFailed as error:
            failed = error  # raised below, once this update is on disk
        state.seconds = time.perf_counter() - began

        timing = Timing(
            collect=collecting_ended - update_began,
            learn=learning_ended - collecting_ended,
            evaluate=time.perf_counter() - learning_ended,
        )
        report = make_report(s, collected, learned, scored, timing)
        commands, report, broken = consult(s.hooks, report, hp)
        writer.take(report)
        sinks.take(report)
        stopped_by_hook = _apply(commands, s, report, writer, sinks)

        if (failed := failed or broken) is not None:
            writer.save_last("failure")
            raise failed
        writer.save_if_due(scored, asked=Request.CHECKPOINT in asked)
        if Request.CHECKPOINT in asked:
            sinks.note(f"checkpoint saved at step {state.env_steps:,}")
        reason, status = _why_stop(s, scored.result, stop, asked)
        if reason is None and stopped_by_hook is not None:
            reason = stopped_by_hook
        if Request.PAUSE in asked and reason is None:
            seconds, asked = _pause(sinks, requests, stop, writer)
            began += seconds
            reason, status = _why_stop(s, None, stop, asked)

    writer.save_last(status)
    return Outcome(
        status, reason, state.env_steps, state.seconds, state.best_score, state.last_score, state.solved
    )


def _apply(
    commands: list[Command], s: Session, report: Report, writer: RunWriter, sinks: Sinks
) -> str | None:
    """Do what hooks asked for; the reason if one of them stops the run."""
    reason = None
    for command in commands:
        match command:
            case Adjust():
                s.adjustments.take(command)
                text = describe_adjustment(command)
            case Stop():
                reason = text = command.why
        writer.log(f"step {report.env_steps:,}: {text}")
        sinks.note(f"step {report.env_steps:,}: {text}")
    return reason


def _why_stop(
    s: Session, result: Result | None, stop: StopRequest, asked: set[Request]
) -> tuple[str | None, Status]:
    """The reason to end here, if there is one, and the run's status then."""
    if result is not None and (reason := s.ended_by(result.score)) is not None:
        return reason, "solved" if s.state.solved else "finished"
    if (over := s.over()) is not None:
        return over, "finished"
    if stop.requested is not None:
        return f"stopped by {stop.requested}", "interrupted"
    if Request.STOP in asked:
        return "stopped on request", "interrupted"
    return None, "finished"


def _pause(
    sinks: Sinks, requests: Requests, stop: StopRequest, writer: RunWriter
) -> tuple[float, set[Request]]:
    """Wait until asked to resume: the seconds that must not count as training, and what else was asked."""
    paused_at = time.perf_counter()
    asked: set[Request] = set()
    sinks.paused(True)
    while stop.requested is None and not asked & {Request.RESUME, Request.STOP}:
        asked = requests.wait(0.2)
        if Request.CHECKPOINT in asked:
            writer.save_if_due(Scored(), asked=True)
            sinks.note("checkpoint saved")
    sinks.paused(False)
    return time.perf_counter() - paused_at, asked
