"""Recording what a run's checkpoint does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from gymnast.algorithms.table import build_algorithm
from gymnast.config.overrides import Overrides
from gymnast.config.schema import Config
from gymnast.envs.contract import EnvFailure
from gymnast.errors import RunFailed
from gymnast.parts.reward_scale import scale_in
from gymnast.policies.load import load_policy
from gymnast.runs.checkpoint import Checkpoint, load_policy_arrays
from gymnast.runs.files import MOST_CONFIG, read_bytes, sha256
from gymnast.runs.trust import load_run_config
from gymnast.traces.env import RecordedEnv
from gymnast.traces.keep import DEFAULT_BYTES, keep_trace
from gymnast.traces.recorder import Player
from gymnast.traces.trace import Trace
from gymnast.training.budget import build_budget
from gymnast.training.evaluator import evaluation_seed, sampling_rng


def record_trace_of_checkpoint(
    checkpoint: Checkpoint,
    *,
    episodes: int = 1,
    max_steps: int = 5000,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    frames: bool = True,
    max_bytes: int = DEFAULT_BYTES,
    overrides: Overrides = (),
    trust: bool = False,
) -> Trace:
    """Record episodes of a checkpoint. Without a seed they are the first ones that training evaluated on."""
    config_path = checkpoint.config_path()
    config = load_run_config(checkpoint.run, overrides, file=config_path, trust=trust)
    env = build_recorded_env(config, seed, task, pictures=frames)
    try:
        player = player_of(env, config, checkpoint, stochastic=stochastic, seed=seed)
        return keep_trace_of(
            checkpoint,
            env,
            player,
            config,
            episodes=episodes,
            max_steps=max_steps,
            max_bytes=max_bytes,
            config_sha256=sha256(read_bytes(config_path, MOST_CONFIG)),
        )
    finally:
        env.close()


def keep_trace_of(
    checkpoint: Checkpoint, env: RecordedEnv, player: Player, config: Config, **how: Any
) -> Trace:
    """Record on an env that is built already; `how` is what `keep_trace` takes."""
    about: dict[str, Any] = {"run": checkpoint.run.id, "checkpoint": checkpoint.env_steps}
    try:
        return keep_trace(env, player, **about, **discounts(config, checkpoint.env_steps), **how)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure


def build_recorded_env(
    config: Config, seed: int | None, task: str | None = None, *, pictures: bool = True
) -> RecordedEnv:
    """The env to record. Without a seed it plays the first episodes that training was evaluated on."""
    return RecordedEnv(
        config.env,
        evaluation_seed(config) if seed is None else seed,
        task,
        training=config.eval.training_wrappers,
        pictures=pictures,
    )


def player_of(
    env: RecordedEnv, config: Config, checkpoint: Checkpoint | None, *, stochastic: bool, seed: int | None
) -> Player:
    """The policy of a checkpoint; with None, as it was before training."""
    arrays, scale, env_steps = None, 1.0, 0
    if checkpoint is not None:
        arrays, sidecar = load_policy_arrays(checkpoint)
        scale = scale_in(sidecar.metrics, env.task)
        env_steps = checkpoint.env_steps
    policy = load_policy(config, env.envs.observation_space, env.envs.action_space, arrays)
    learnt = checkpoint is not None and build_algorithm(config.algo).uses_critic
    rng: np.random.Generator | None = None
    if stochastic:
        rng = sampling_rng(evaluation_seed(config) if seed is None else seed, env_steps)
    return Player(policy, rng, scale if learnt else None)


def discounts(config: Config, env_steps: int) -> dict[str, Any]:
    """γ and λ as they were at this step; λ is 1 for an algorithm that sums whole returns."""
    total = build_budget(config.budget, config.env.copies).schedule_steps
    hp = asdict(build_algorithm(config.algo).hyperparameters(env_steps, total))
    return {"gamma": float(hp["gamma"]), "gae_lambda": float(hp.get("gae_lambda", 1.0))}
