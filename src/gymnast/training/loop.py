"""The training loop. Read this file first: all of training happens here, in this order."""

from __future__ import annotations

import time

from gymnast.envs.contract import EnvFailure
from gymnast.errors import RunFailed
from gymnast.metrics.sinks.console import Console
from gymnast.metrics.sinks.sink import Sinks
from gymnast.rollout.source import Interrupted
from gymnast.training.evaluator import Result, Scored, evaluate_if_due
from gymnast.training.hooks import Adjust, Command, Stop, consult, describe_adjustment
from gymnast.training.report import (
    Report,
    Timing,
    Update,
    as_hooks_left_it,
    make_report,
    make_update,
    with_alerts,
    with_metrics,
)
from gymnast.training.requests import AnyOf, Request
from gymnast.training.run.outcome import Outcome, Status
from gymnast.training.run.signals import StopRequest
from gymnast.training.run.watch import Watch
from gymnast.training.run.writer import RunWriter
from gymnast.training.session import Session

DIVERGED = "the loss became NaN or infinite"  # how the reason of such a failure begins


def run_loop(
    s: Session, writer: RunWriter, sinks: Sinks, console: Console, requests: AnyOf, stop: StopRequest
) -> Outcome:
    """Train until the budget is spent, a stop rule fires, or someone asks to stop."""
    state = s.state
    watch = Watch(s.budget, state.seconds, requests, stop, console)
    status: Status = "finished"
    reason = s.over_already or s.budget.spent(state)
    if s.over_already is not None and state.solved:
        status = "solved"
    while reason is None or s.unscored is not None:
        try:
            update = s.take_unscored() or _collect_and_learn(s, writer, watch)
        except Interrupted:
            _report(f"the rollout after step {state.env_steps:,} was dropped unfinished", writer, sinks)
            state.seconds = watch.seconds
            reason, status = _why_stop(s, None, stop, requests.poll() | {Request.STOP}, requests)
            break

        asked = requests.poll()
        state.seconds = watch.seconds
        due = s.eval_schedule.due(state, update.steps_before) or Request.EVALUATE in asked
        at_end = not due and s.eval_schedule.due_at_end(state, s.budget)
        scored, failed, unscored = Scored(), None, None
        evaluation_began = time.perf_counter()
        if due or at_end:
            unscored = make_report(s, update, scored)
            writer.save_before_evaluation(unscored)
        try:
            scored = evaluate_if_due(s, due or at_end, writer.note_best, watch.evaluating)
        except RunFailed as error:
            failed = error  # raised below, once this update is on disk
        except Interrupted:
            _report(f"the evaluation after step {state.env_steps:,} was dropped unfinished", writer, sinks)
            asked |= {Request.STOP}
        state.seconds = watch.seconds

        report = make_report(s, update, scored, time.perf_counter() - evaluation_began)
        if s.monitor is not None:  # a longer run has no score at the end, and finds what it would find there
            alerts = s.monitor.take((unscored if at_end and unscored is not None else report).row)
            report = with_alerts(report, s.monitor, alerts)
        if at_end and unscored is not None:  # likewise, hooks decide as there
            commands, seen, broken = consult(s.hooks, unscored, update.hp)
            report = as_hooks_left_it(seen, report)
        else:
            commands, report, broken = consult(s.hooks, report, update.hp)
        report = with_metrics(report, sinks.row_metrics())
        writer.take(report)
        sinks.take(report)
        stopped_by_hook = _apply(commands, s, report, writer, sinks)

        if (failed := failed or broken) is not None:
            writer.save_last("failure")
            raise failed
        writer.save_if_due(scored, asked=Request.CHECKPOINT in asked)
        if Request.CHECKPOINT in asked:
            sinks.note(f"checkpoint saved at step {state.env_steps:,}")
        if watch.ending:  # maybe since the evaluation, or since a rollout was waited for to be saved
            state.seconds = watch.seconds
            asked |= requests.poll()
        reason, status = _why_stop(s, scored.result, stop, asked, requests)
        if reason is None and stopped_by_hook is not None:
            reason = stopped_by_hook
        if Request.PAUSE in asked and reason is None:
            seconds, asked = _pause(sinks, requests, stop, writer)
            watch.leave_out(seconds)
            reason, status = _why_stop(s, None, stop, asked, requests)

    writer.save_last(status)
    assert reason is not None
    return Outcome(
        status, reason, state.env_steps, state.seconds, state.best_score, state.last_score, state.solved
    )


def _collect_and_learn(s: Session, writer: RunWriter, watch: Watch) -> Update:
    """One update; Interrupted if the run had to end in its rollout, which then never was."""
    state = s.state
    began = time.perf_counter()
    hp = s.adjustments.applied(s.learner.hyperparameters(state.env_steps, s.budget.schedule_steps))
    rng_before = s.rng.bit_generator.state
    try:
        collected = s.source.collect(s.learner.policy, s.rng, watch.collecting)
    except EnvFailure as failure:
        s.rng.bit_generator.state = rng_before
        raise writer.failed(failure) from failure
    except Interrupted:
        s.rng.bit_generator.state = rng_before
        s.source.drop()
        raise
    collecting_ended = time.perf_counter()

    observation = None
    if s.observer is not None:  # of every few updates
        observation = s.observer.begin(state.updates + 1, collected, state.recent)
    learned = s.learner.learn(collected.rollout, hp, s.rng, observation)
    if learned.diverged:
        if s.monitor is not None:
            s.monitor.diverged(state.env_steps, {**collected.metrics, **learned.metrics})
        raise RunFailed(
            f"{DIVERGED} in update {state.updates + 1}, after step "
            f"{state.env_steps:,}; checkpoints before it are intact. A lower algo.lr, a lower "
            "algo.max_grad_norm or policy.normalize_obs=running may help"
        )
    steps_before = state.env_steps
    state.advance(collected)
    timing = Timing(collect=collecting_ended - began, learn=time.perf_counter() - collecting_ended)
    return make_update(hp, steps_before, collected, learned, timing)


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
        _report(f"step {report.env_steps:,}: {text}", writer, sinks)
    return reason


def _report(text: str, writer: RunWriter, sinks: Sinks) -> None:
    writer.log(text)
    sinks.note(text)


def _why_stop(
    s: Session, result: Result | None, stop: StopRequest, asked: set[Request], requests: AnyOf
) -> tuple[str | None, Status]:
    """The reason to end here, if there is one, and the run's status then."""
    if result is not None and (reason := s.ended_by(result.score)) is not None:
        return reason, "solved" if s.state.solved else "finished"
    if (over := s.over()) is not None:
        return over, "finished"
    if stop.requested is not None:
        return f"stopped by {stop.requested}", "interrupted"
    if Request.STOP in asked:
        return requests.why_stop() or "stopped on request", "interrupted"
    return None, "finished"


def _pause(sinks: Sinks, requests: AnyOf, stop: StopRequest, writer: RunWriter) -> tuple[float, set[Request]]:
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
