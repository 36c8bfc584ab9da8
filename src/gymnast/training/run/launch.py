"""From a config to a finished run: everything around the loop."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.config.dump import dump_config, plain_data
from gymnast.config.load import ResolvedConfig, variants_for_a_cpu
from gymnast.config.schema import Config
from gymnast.envs.measure.sameness import warn_of_same_copies
from gymnast.errors import GymnastError, RunFailed
from gymnast.metrics.sinks.console import RunHeader
from gymnast.metrics.sinks.distributions_file import truncate_after
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.metrics.sinks.sink import Sink, Sinks
from gymnast.metrics.sinks.table import SinkBuilder, prepare_sinks
from gymnast.metrics.sinks.trackers.settings import uploads, with_trackers
from gymnast.policies.device import has_gpu, limit_threads
from gymnast.processes import output
from gymnast.redact import redact
from gymnast.runs.checkpoint import Checkpoint, keep_configs, rewind
from gymnast.runs.ids import check_new_id
from gymnast.runs.provenance import describe_process
from gymnast.runs.store import RunFolder, create_run
from gymnast.runs.trust import is_made_here, load_run_config, mark_run, refuse_secrets
from gymnast.training.loop import run_loop
from gymnast.training.notices import passed_on
from gymnast.training.report import Report
from gymnast.training.requests import AnyOf
from gymnast.training.run.auto_envs import with_measured_envs
from gymnast.training.run.end_report import end_report
from gymnast.training.run.file_requests import FileRequests
from gymnast.training.run.log import RunLog, append_to_log
from gymnast.training.run.observers import Observers
from gymnast.training.run.outcome import Outcome, Status
from gymnast.training.run.restore import check_something_to_resume, config_to_resume, restored_session
from gymnast.training.run.signals import catch_signals
from gymnast.training.run.videos import check_videos
from gymnast.training.run.writer import RunWriter
from gymnast.training.session import Session, build_session
from gymnast.training.target_metrics import initial_policy_notice

Overrides = Mapping[str, Any] | Sequence[Any]


def start_run(
    resolved: ResolvedConfig,
    root: Path,
    start_from: tuple[dict[str, np.ndarray], Checkpoint] | None,
    observers: Observers,
    run_id: str | None = None,
) -> tuple[RunFolder, Outcome]:
    """Train as a new run. The folder is created only when everything else is built."""
    if run_id is not None:  # before what takes a while
        check_new_id(root, run_id)
    config = tracked(resolved.config, observers)
    check_videos(config)
    refuse_secrets(config)
    if (others := variants_for_a_cpu(resolved.name)) and not has_gpu(resolved.config.device):
        hint = f"this preset is made for a GPU; on a CPU use {' or '.join(others[:2])}"
        observers.console.note(hint)
    notices: list[str] = []
    with passed_on(notices.append):
        config = with_measured_envs(config, observers.console)
        builders = prepare_sinks(config.sinks)
        session = build_session(config, observers.hooks)
        inputs = session.source.next_inputs()
        if inputs is not None:
            warn_of_same_copies(config.env, session.envs.backend, config.seed, inputs[0])
    run: RunFolder | None = None
    try:
        info = describe_process() | {
            "env": config.env.id,
            "variant": resolved.variant,
            "algo": config.algo.name,
            "seed": config.seed,
            "budget_env_steps": session.budget.total_steps,
        }
        if start_from is not None:
            arrays, checkpoint = start_from
            notice = session.learner.policy.start_from(arrays)
            notices += [f"starts from the policy of {checkpoint}", *([notice] if notice else [])]
            info["init_from"] = str(checkpoint)
        elif (notice := _first_policy(session)) is not None:
            notices.append(notice)
        run = create_run(root, resolved.name, dump_config(config), info, run_id)
        with run.lock():
            with passed_on(notices.append):
                mark_run(run, config)
            return run, _train(run, resolved.name, session, notices, observers, builders, row={})
    finally:
        _close(session, run)


def _close(session: Session, run: RunFolder | None) -> None:
    """Release envs and processes; what is reported about that belongs in the log too."""
    if run is None:
        session.close()
        return
    notices: list[str] = []
    with passed_on(notices.append):
        session.close()
    with suppress(GymnastError):  # the run is over, whatever became of its folder
        for notice in notices:
            append_to_log(run.log_path, notice)


def tracked(config: Config, observers: Observers) -> Config:
    """The config with the trackers that the caller asks for, which a resume has too then."""
    if not observers.track:
        return config
    return config.model_copy(update={"sinks": with_trackers(config.sinks, observers.track)})


def _first_policy(session: Session) -> str | None:
    inputs = session.source.next_inputs()
    return None if inputs is None else initial_policy_notice(session.learner.policy, *inputs)


def upload_notices(run: RunFolder, config: Config) -> list[str]:
    """That a run from elsewhere sends metrics to where its author wants them, with this user's login."""
    places = uploads(config.sinks)
    if not places or is_made_here(run, config):
        return []
    return [
        f"run {run.id} was made elsewhere, and its config sends metrics to {', '.join(places)} with your"
        " login; sinks=[] leaves that out"
    ]


def continue_run(
    run: RunFolder,
    overrides: Overrides,
    fresh_optimizer: bool,
    observers: Observers,
    *,
    trust: bool = False,
    may_be_over: bool = False,
) -> Outcome:
    """Continue from the last intact checkpoint; from the beginning if nothing was trained yet.

    A run that was made elsewhere continues if it is trusted, and counts as made here from then on. With
    `may_be_over` a run that was killed after its last update is brought to its end; it is an error otherwise.
    """
    notices: list[str] = []
    with run.lock():
        with passed_on(notices.append):
            check_something_to_resume(run)
            config = load_run_config(run, overrides, file=config_to_resume(run, notices), trust=trust)
            notices += upload_notices(run, config)
            config = tracked(config, observers)
            refuse_secrets(config)
            config = with_measured_envs(config, observers.console)
            check_videos(config)
            builders = prepare_sinks(config.sinks)
            session, checkpoint, row = restored_session(run, config, fresh_optimizer, observers, notices)
        try:
            steps = session.state.env_steps
            spent = session.budget.spent(session.state)
            if may_be_over and session.unscored is None:
                session.over_already = session.ended_before(row)
            elif spent is not None and session.unscored is None:
                more = session.budget.more(session.state)
                raise GymnastError(
                    f"run {run.id} is at step {steps:,} and {spent}; give it more, for example {more}"
                )
            if checkpoint is not None:
                rewind(run, checkpoint)
            complete = session.state.updates - (0 if session.unscored is None else 1)
            with passed_on(notices.append):
                Recorder(run.metrics_path).truncate_after(complete)
                truncate_after(run.distributions_path, session.state.updates)
            info = describe_process() | {
                "budget_env_steps": session.budget.total_steps,
                "scores_from": session.state.scores_from,
            }
            text = dump_config(config)
            if text != run.config_text():
                keep_configs(run)
            run.note_resume(steps, info, text)
            with passed_on(notices.append):
                mark_run(run, config)
            name = str(run.info().get("name") or config.env.id)
            return _train(run, name, session, notices, observers, builders, row)
        finally:
            _close(session, run)


def _train(
    run: RunFolder,
    name: str,
    session: Session,
    notices: list[str],
    observers: Observers,
    builders: list[SinkBuilder],
    row: dict[str, Any],
) -> Outcome:
    """The loop, with its log, sinks, signals and keys around it; the registry is updated whatever happens."""
    console, learner = observers.console, session.learner
    metrics_file, *others = [build(run) for build in builders]
    assert isinstance(metrics_file, Recorder)
    all_sinks = (metrics_file, console, _Printed(), *others, *observers.sinks)
    sinks = Sinks(all_sinks, logging.getLogger("gymnast").warning)
    with (
        closing(sinks),
        RunLog(run.log_path) as log,
        passed_on(log.write, partial(sinks.note, style="warning")),
        AnyOf(observers.requests, FileRequests(run)) as requests,
    ):
        writer = RunWriter(run, session, log.write, metrics_file.sync, row, sinks)
        output.send_to(partial(append_to_log, run.log_path, mark="env: "))
        try:
            writer.started(notices)
            sinks.started(_header(run, name, session, notices))
            with (
                catch_signals(sinks.note) as stop,
                limit_threads(learner.policy.network, learner.batch_size),
            ):
                outcome = run_loop(session, writer, sinks, console, requests, stop)
        except BaseException as error:
            status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            reason = str(error) if isinstance(error, RunFailed) else f"{type(error).__name__}: {error}"
            with suppress(GymnastError):
                log.write("".join(traceback.format_exception(error)))
            with suppress(GymnastError):  # the disk may be what failed; report the first error
                writer.save_best()
                writer.finish(ended := _outcome(session, status, reason))
                end_report(run, session, ended, log.write)
            aborted = isinstance(error, KeyboardInterrupt)  # at once: trackers finish by themselves
            sinks.deliver(_outcome(session, status, reason), wait=not aborted)
            raise
        writer.finish(outcome)
        writer.videos.at_end(outcome, sinks.note)
        end_report(run, session, outcome, log.write)
        sinks.finished(outcome)
        sinks.deliver(outcome)
    return outcome


class _Printed(Sink):
    """Brings what envs printed during an update into the run's log."""

    essential = True  # as the log itself

    def take(self, report: Report) -> None:
        output.drain()


def _outcome(session: Session, status: Status, reason: str) -> Outcome:
    state = session.state
    return Outcome(
        status, reason, state.env_steps, state.seconds, state.best_score, state.last_score, state.solved
    )


def _header(run: RunFolder, name: str, session: Session, notices: list[str]) -> RunHeader:
    config: Config = session.config
    return RunHeader(
        run_id=run.id,
        path=str(run.path),
        name=name,
        env_id=config.env.id,
        algo=config.algo.name.upper(),
        engine=session.learner.policy.network.xp.__name__,
        backend=session.envs.backend,
        n_envs=session.envs.n_envs,
        parameters=session.learner.policy.layout.n_parameters,
        budget=session.budget.describe(),
        budget_env_steps=session.budget.total_steps,
        budget_seconds=session.budget.wall_time,
        solved_at=session.spec.solved_at,
        tasks=tuple(session.spec.tasks),
        env_steps=session.state.env_steps,
        config=plain_data(config),
        notices=tuple(map(redact, notices)),  # console.log keeps what a detached run prints
    )
