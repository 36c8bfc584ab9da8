"""What an env returns from step() is refused where it is not what it should be, with the env's number."""

from __future__ import annotations

import numpy as np
import pytest

from gymnast.envs.build import build_envs
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig

GO = np.zeros(2, np.int64)

WRONG = {
    "reward text": r"returned the reward '1.5' \(str\); a number is expected",
    "reward None": r"returned the reward None \(NoneType\); a number is expected",
    "reward of two": r"returned the reward array\(\[1., 1.\]\) \(ndarray\); a number is expected",
    "terminated text": r"returned terminated = 'no' \(str\); True or False is expected",
    "truncated text": r"returned truncated = 'yes' \(str\); True or False is expected",
    "terminated number": r"returned terminated = 0.5 \(float\); True or False is expected",
    "scalar": r"returned an observation of shape \(\); its space has \(3,\)",
    "NumPy scalar": r"returned an observation of shape \(\); its space has \(3,\)",
}
WRONG_AT_FIRST = {
    "terminated empty": r"returned terminated = '' \(str\); True or False is expected",
    "texts": r"returned an observation of <U1",
    "info": r"returned the info None \(NoneType\); a dict is expected",
    "four": r"returned 4 values from step\(\); expected are obs, reward, terminated, truncated, info",
}


def play(what: str, at: int, backend: str, steps: int) -> list[float]:
    config = EnvConfig(id="sample_envs:Returns", kwargs={"what": what, "at": at}, workers=1)
    envs = build_envs(config, n_envs=2, seed=0, backend=backend)
    try:
        envs.reset()
        return [float(envs.step(GO).rewards.sum()) for _ in range(steps)]
    finally:
        envs.close()


@pytest.mark.parametrize("backend", ["sync", "workers"])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_value_is_refused_in_the_first_step_and_later(what: str, backend: str) -> None:
    for at in (1, 50):
        with pytest.raises(EnvFailure, match=rf"env 0 \(seed \d+\) {WRONG[what]}"):
            play(what, at, backend, 60)
        if backend == "workers":
            return  # the same class steps them


@pytest.mark.parametrize("what", WRONG_AT_FIRST)
def test_wrong_value_that_is_dear_to_find_is_refused_in_the_first_steps(what: str) -> None:
    with pytest.raises(EnvFailure, match=rf"env 0 \(seed \d+\) {WRONG_AT_FIRST[what]}"):
        play(what, 1, "sync", 1)


@pytest.mark.parametrize("what", ["odd but right", "flag of NumPy", "flag of a number", "list"])
@pytest.mark.parametrize("at", [1, 50])
def test_value_that_means_what_it_should_is_taken(what: str, at: int) -> None:
    rewards = play(what, at, "sync", 60)
    assert len(rewards) == 60
    assert rewards[-1] == (3.0 if what == "odd but right" else 2.0)
