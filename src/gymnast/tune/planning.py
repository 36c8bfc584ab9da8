"""From what the user asks for to a plan; what can be wrong is found here, before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.envs.spec import EnvSpec, read_spec
from gymnast.errors import GymnastError
from gymnast.runs import registry
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import is_of_one_piece
from gymnast.runs.trust import load_run_config, refuse_secrets
from gymnast.tune.race import most_steps
from gymnast.tune.state import Plan

_SEEDS, _FRESH = 3, 5
_EVALUATIONS = 20  # in a run; fewer make a score AUC coarse
_SAVES = 10  # checkpoints in a run, to fork from


def make_plan(
    reference: str,
    overrides: Mapping[str, Any],
    *,
    config_dirs: Sequence[Path] = (),
    from_run: RunFolder | None = None,
    changed: bool = False,
    workers: int,
    max_env_steps: int | None = None,
    seconds: float | None = None,
    until_solved: bool = False,
    method: str = "diagnose",
    ask_model: bool = False,
) -> Plan:
    """GymnastError for what cannot be tuned, or not with this budget. `changed`: the user wants other
    settings than `from_run` has, so that it cannot stand for a baseline."""
    if from_run is not None:
        if from_run.is_locked():
            raise GymnastError(f"run {from_run.id} is being trained; stop it or wait until it is over")
        load_run_config(from_run)  # one that is not trusted must not be trained again
    config = load_config(reference, overrides, config_dirs=list(config_dirs)).config
    refuse_secrets(config)
    budget = _budget(config)
    if workers < 1:
        raise GymnastError(f"--workers: {workers} workers cannot train anything; give a number from 1")
    least = (_SEEDS + _FRESH) * budget + most_steps(1, _SEEDS, budget)
    if max_env_steps is not None and max_env_steps < least:
        raise GymnastError(
            f"{max_env_steps:,} env steps are too few to tune this: {_SEEDS} baseline runs, one change on the"
            f" same seeds and {_FRESH} confirmations of {budget:,} each need {least:,}; give --max-env-steps"
            f" {least}, or a smaller budget.env_steps"
        )
    if seconds is not None and seconds <= 0:
        raise GymnastError(f"--budget: {seconds:g} s is no time; give for example 30m")
    spec = read_spec(config.env)
    if until_solved and spec.solved_at is None:
        raise GymnastError(f"--until-solved: {config.env.id} has no threshold; set env.spec.solved_at")
    own_seed = config.seed
    usable = from_run is not None and not changed and _is_whole(from_run, budget)
    return Plan(
        reference=reference,
        overrides=dict(overrides),
        fixed=_fixed(config, budget),
        budget=budget,
        seeds=tuple(own_seed + number for number in range(_SEEDS)),
        fresh_seeds=tuple(own_seed + 1000 + number for number in range(_FRESH)),
        workers=workers,
        max_env_steps=max_env_steps,
        seconds=seconds,
        until_solved=until_solved,
        method=method,
        solved_at=spec.solved_at,
        ceiling=_highest_return(config, spec),
        from_run=from_run.id if from_run is not None and usable else None,
        ask_model=ask_model,
        config_dirs=tuple(str(folder) for folder in config_dirs),
    )


def _budget(config: Config) -> int:
    steps, n_envs = config.budget.env_steps, config.env.n_envs
    if steps is None and config.budget.vec_steps is not None and isinstance(n_envs, int):
        steps = config.budget.vec_steps * n_envs
    if steps is None:
        raise GymnastError("a tune compares runs of the same number of env steps: set budget.env_steps")
    return steps


def _fixed(config: Config, budget: int) -> dict[str, Any]:
    """What every run has: enough evaluations for a curve, enough checkpoints to fork from, nothing that only
    a person would look at."""
    fixed: dict[str, Any] = {
        "checkpoint.every": max(1, budget // _SAVES),
        "checkpoint.keep": 2 * _SAVES,  # evaluations save some too
        "checkpoint.rollout_table": False,
    }
    if not config.eval.every or config.eval.every > budget // 10:
        fixed["eval.every"] = max(1, budget // _EVALUATIONS)
    if config.eval.from_train_fraction is not None:
        fixed["eval.from_train_fraction"] = None
    if config.video.record != "never":
        fixed["video.record"] = "never"
    return fixed


def _highest_return(config: Config, spec: EnvSpec) -> float | None:
    """No run scores more, where rewards and the length of an episode are known."""
    if config.env.wrappers or config.env.mix is not None or config.env.spec.reward_range is None:
        return None
    most = spec.reward_range[1]
    if most > 0 and spec.max_episode_steps is not None and most < float("inf"):
        return most * spec.max_episode_steps
    return most if most <= 0 else None  # of one step: an episode has at least one


def _is_whole(run: RunFolder, budget: int) -> bool:
    """Whether a run of the user's can stand for a baseline: it is over, has what is compared, and its
    settings alone made that."""
    entry = registry.entry_of(run)
    ended = entry.status == "finished" and run.info().get("budget_env_steps") == budget
    return ended and entry.score_auc is not None and is_of_one_piece(run)
