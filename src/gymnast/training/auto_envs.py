"""`env.n_envs: auto` becomes a number before a run starts; the run's config holds that number."""

from __future__ import annotations

import logging

from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.metrics.console import Console

_SECONDS = 0.5  # for each way to step: a run waits for it


def with_measured_envs(config: Config, console: Console) -> Config:
    """The config with a number in place of `auto`: what was measured before, or is measured now."""
    if config.env.n_envs != "auto":
        return config
    from gymnast.envs.tuning import N_ENVS, remembered, tune  # brings subprocess: most runs do without

    counts = [count for count in N_ENVS if config.fits(count)]
    if not counts:
        tried = ", ".join(map(str, N_ENVS))
        raise GymnastError(
            f"env.n_envs=auto: none of {tried} envs goes with the other settings; say algo.batch_size as a"
            " fraction of the rollout (0.25), or a number of envs"
        )
    tuning = remembered(config.env, counts)
    if tuning is None:
        console.note(f"measuring how {config.env.id} is stepped fastest here, once …")
        tuning = tune(config.env, counts, _SECONDS, brief=True)
    logging.getLogger("gymnast").warning(
        "env.n_envs=%d was measured: %s", tuning.choice.n_envs, tuning.reason
    )
    return config.model_copy(update={"env": tuning.choice.applied(config.env)})
