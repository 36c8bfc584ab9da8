"""What a run is resumed from: its config, and the last checkpoint that makes sense."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.envs.contract import EnvFailure
from gymnast.errors import GymnastError, RunFailed
from gymnast.metrics.csv_file import read_columns
from gymnast.runs import registry
from gymnast.runs.checkpoint import Checkpoint, Saved, intact_checkpoints, list_checkpoints
from gymnast.runs.files import MOST_CONFIG, list_folder, read_text, set_file_aside, write_atomic
from gymnast.runs.store import RunFolder
from gymnast.training.run.observers import Observers
from gymnast.training.run.writer import BEFORE_EVALUATION
from gymnast.training.score_meaning import changed_meaning
from gymnast.training.session import MALFORMED, Session, build_session


def check_something_to_resume(run: RunFolder) -> None:
    """Without a checkpoint only a run that never trained may start: any other would lose its metrics."""
    if list_checkpoints(run):
        return
    steps = read_columns(run.metrics_path, ["time/env_steps"])["time/env_steps"]
    trained = int(max([0.0, *steps[np.isfinite(steps)].tolist()])) or registry.entry_of(run).env_steps
    aside = sorted(name for name in list_folder(run.checkpoints) if ".safetensors" in name)
    if trained or aside:
        reached = f" though it was trained to step {trained:,}" if trained else ""
        found = f" ({run.checkpoints} has {aside[-1]}, which is not one)" if aside else ""
        raise GymnastError(
            f"run {run.id} has no checkpoint{reached}, so it cannot be resumed{found}; nothing was changed."
            f" Train it again as a new run: gymnast train {run.config_path}"
        )
    if "init_from" in run.info():
        raise GymnastError(f"run {run.id} was stopped before its first checkpoint; start it again")


def config_to_resume(run: RunFolder, notices: list[str]) -> Path:
    """The run's config. If that is damaged, the one of its last checkpoint takes its place."""
    try:
        load_config(str(run.config_path))
    except GymnastError as error:
        for checkpoint in reversed(list_checkpoints(run)):
            with suppress(GymnastError):
                kept = checkpoint.config_path()
                load_config(str(kept))
                text = read_text(kept, MOST_CONFIG)
                aside = set_file_aside(run.config_path)
                write_atomic(run.config_path, text)
                notices.append(
                    f"{error}; the config of checkpoint {checkpoint.env_steps} takes its place"
                    + (f", the damaged file is now {aside.name}" if aside else "")
                )
                return run.config_path
        raise
    return run.config_path


def restored_session(
    run: RunFolder, config: Config, fresh_optimizer: bool, observers: Observers, notices: list[str]
) -> tuple[Session, Checkpoint | None, dict[str, Any]]:
    """A session that continues from the last checkpoint that makes sense, that checkpoint, and its metrics
    row; each damaged one is passed over with a notice."""
    if not list_checkpoints(run):
        notices.append("no checkpoint yet: starts from the beginning")
        return build_session(config, observers.hooks), None, {}
    for saved in intact_checkpoints(run, notices.append):
        session = build_session(config, observers.hooks)
        try:
            restored = _restore(session, saved, fresh_optimizer)
        except BaseException:
            session.close()
            raise
        if isinstance(restored, list):
            notices += [f"resumes from step {saved.checkpoint.env_steps:,}", *restored]
            if saved.sidecar.reason == BEFORE_EVALUATION:
                session.unscored = saved.sidecar.metrics
            return session, saved.checkpoint, saved.sidecar.metrics
        session.close()
        notices.append(f"{saved.checkpoint.damaged(restored)}; trying the one before")
    raise RunFailed(f"every checkpoint of run {run.id} is damaged")


def _restore(session: Session, saved: Saved, fresh_optimizer: bool) -> list[str] | str:
    """Notices; or why the checkpoint cannot be restored though its checksums are right."""
    try:
        before: Config | None = load_config(str(saved.checkpoint.config_path())).config
    except GymnastError:
        before = None
    try:
        notices = session.restore(saved.policy, saved.state, fresh_optimizer=fresh_optimizer)
        if session.state.env_steps != saved.checkpoint.env_steps:
            return f"its state is of step {session.state.env_steps}"
    except EnvFailure as failure:
        raise RunFailed(f"{session.config.env.id}: {failure}") from failure
    except RunFailed:
        raise
    except GymnastError as error:
        if before is None or _stored_settings(before) != _stored_settings(session.config):
            raise  # a changed setting that does not fit the checkpoint
        return str(error)
    except MALFORMED as error:
        return f"its state is malformed ({type(error).__name__}: {error})"
    return notices + _forget_scores(session, before)


def _stored_settings(config: Config) -> tuple[Any, ...]:
    """The settings that decide on what a checkpoint holds."""
    return config.engine, config.env, config.policy, config.algo, config.explore


def _forget_scores(session: Session, before: Config | None) -> list[str]:
    """Drop the best score if it means something else now than under `before`, the checkpoint's config."""
    if before is None:
        changed = ["the checkpoint's config is lost"]
    else:
        changed = changed_meaning(before, session.config)
    if not changed:
        return []
    best = session.state.best_score
    session.state.forget_scores()
    what = f"a score means something else from here on ({', '.join(changed)})"
    return [what if best is None else f"{what}: the best one so far, {best:g}, no longer counts"]
