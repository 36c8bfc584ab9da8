"""Whether copies of an env that were given different seeds see the same, if they do the same."""

from __future__ import annotations

import logging
import time

import numpy as np

from gymnast.envs.backends.restarts import RestartConfig
from gymnast.envs.build import build_envs
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.measure.cache import measured_key, recall, remember
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError
from gymnast.spaces.plain import random_actions

STEPS = 200
_COPIES = 4
_SECONDS = 3.0  # a slow env is stepped no longer than this
_FEWEST_STEPS = 20  # an env too slow even for these is not checked


def warn_of_same_copies(config: EnvConfig, backend: str, seed: int, obs: np.ndarray | None = None) -> bool:
    """Say so, in one line, if parallel envs give the same experience; whether they do.

    `obs` [N, …] may be what the copies showed first: where that differs there is nothing to measure.
    The tasks of a mix differ by themselves.
    """
    if config.copies == 1 or config.mix is not None or (obs is not None and not _alike(obs)):
        return False
    key = measured_key(config, backend=backend, question="sameness")
    same = recall("sameness", key)
    if not isinstance(same, bool):
        same = _measure(config, backend, seed)
        if same is None:
            return False
        remember("sameness", key, same)
    if same:
        logging.getLogger("gymnast").warning(
            "parallel envs give the same experience: copies of %s with different seeds that did the same saw "
            "the same. Only sampled actions tell them apart, and a greedy evaluation plays one episode over "
            "and over; if the env is not meant to be so, sticky-actions or random-frame-skip in env.wrappers "
            "make episodes differ",
            config.id,
        )
    return same


def copies_agree(envs: Envs) -> bool | None:
    """Step all copies with the same random actions; None if there was no time for enough steps."""
    random = np.random.default_rng(0)
    if not _alike(envs.reset()):
        return False
    end = time.monotonic() + _SECONDS
    for step_count in range(STEPS):
        if time.monotonic() > end:
            return True if step_count >= _FEWEST_STEPS else None
        masks = envs.masks
        if masks is not None and not _alike(masks):
            return False
        one = random_actions(envs.action_space, 1, random, None if masks is None else masks[:1])
        step = envs.step(np.repeat(one, envs.n_envs, axis=0))
        if not all(map(_alike, (step.obs, step.rewards, step.terminated, step.truncated))):
            return False
    return True


def _measure(config: EnvConfig, backend: str, seed: int) -> bool | None:
    """By copies of their own, so that nothing is left of it in those that train."""
    copies = config.model_copy(update={"restarts": RestartConfig(budget=0)})
    try:
        here = None if backend == "remote" else backend  # actors are for the copies that train
        envs = build_envs(copies, n_envs=min(config.copies, _COPIES), seed=seed, backend=here)
        try:
            return copies_agree(envs)
        finally:
            envs.close()
    except (EnvFailure, GymnastError):
        return None  # training will meet it too, and report it


def _alike(rows: np.ndarray) -> bool:
    """Whether all rows are the same, bit for bit; structured ones (Dict observations) included."""
    first = rows[0].tobytes()
    return all(row.tobytes() == first for row in rows[1:])
