"""`env.n_envs: auto` and `algo.n_steps: auto` become numbers before a run starts; its config holds them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.metrics.sinks.console import Console

if TYPE_CHECKING:
    from gymnast.envs.measure.tuning import Tuning

_SECONDS = 0.5  # per way to step: the run waits for it


def with_measured_envs(config: Config, console: Console) -> Config:
    """The config with numbers in place of `auto`: what was measured before, or is measured now."""
    if config.env.n_envs != "auto" and config.algo.n_steps != "auto":
        return config
    from gymnast.envs.measure.tuning import (  # imports subprocess, which most runs do not need
        N_ENVS,
        remembered,
        tune,
    )

    counts = N_ENVS if config.env.n_envs == "auto" else (config.env.copies,)
    if config.algo.n_steps != "auto" and not any(map(config.fits, counts)):
        raise _misfit(counts)
    tuning = remembered(config.env, counts)
    if tuning is None:
        console.note(f"measuring how {config.env.id} is stepped fastest here, once …")
        tuning = tune(config.env, counts, _SECONDS, brief=True)
    if config.algo.n_steps == "auto":
        config = _with_steps(config, tuning)
    return _with_envs(config, tuning)


def _with_steps(config: Config, tuning: Tuning) -> Config:
    from gymnast.envs.measure.tuning import rollout_steps

    between = tuning.steps_between_rewards
    least: int = type(config.algo).model_fields["n_steps"].default
    steps = rollout_steps(between, least)
    apart = "there are none" if between is None else f"they are {between:.3g} steps apart"
    _report(f"algo.n_steps={steps} was measured from the rewards of random actions: {apart}")
    return config.model_copy(update={"algo": config.algo.model_copy(update={"n_steps": steps})})


def _with_envs(config: Config, tuning: Tuning) -> Config:
    from gymnast.envs.measure.tuning import choose

    fitting = [cell for cell in tuning.cells if cell.rate and config.fits(cell.n_envs)]
    if not fitting:
        raise _misfit([cell.n_envs for cell in tuning.cells])
    if config.env.n_envs != "auto":
        return config
    best = choose(fitting)
    _report(f"env.n_envs={best.choice.n_envs} was measured: {best.reason}")
    return config.model_copy(update={"env": best.choice.applied(config.env)})


def _misfit(counts: Sequence[int]) -> GymnastError:
    tried = ", ".join(str(count) for count in sorted(set(counts)))
    return GymnastError(
        f"env.n_envs or algo.n_steps=auto: {tried} envs do not fit the other settings; use"
        " numbers, or a fraction of the rollout for algo.batch_size (0.25)"
    )


def _report(text: str) -> None:
    logging.getLogger("gymnast").warning("%s", text)
