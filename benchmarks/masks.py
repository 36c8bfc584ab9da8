"""What action masks cost: the same CartPole, whose infos hold masks, trained with and without them.

python benchmarks/masks.py [--updates 200] [--engine numpy]

Both trainings run in one process and take turns update by update, so that a busy moment of the machine
affects both alike. The ratio is of throughputs, masked over unmasked: the median over all turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from gymnast.config.load import load_config
from gymnast.policies.device import limit_threads
from gymnast.training.session import Session, build_session

MAX_COST = 0.10  # of throughput
_EDGE = 1.8  # of a track that ends at 2.4
_BOTH, _NOT_LEFT, _NOT_RIGHT = (np.array(row, np.int8) for row in ((1, 1), (0, 1), (1, 0)))


class EdgedCartPole(CartPoleEnv):
    """CartPole that forbids pushing further out near the ends of the track."""

    def _info(self) -> dict[str, Any]:
        assert self.state is not None
        x = self.state[0]
        return {"action_mask": _NOT_LEFT if x < -_EDGE else _NOT_RIGHT if x > _EDGE else _BOTH}

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        obs, _ = super().reset(**options)
        return obs, self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, _ = super().step(action)
        return obs, float(reward), terminated, truncated, self._info()


def session(masked: bool, engine: str) -> Session:
    """A run of CartPole-v1:ppo on this env, ready to be trained."""
    overrides = {
        "env.id": "masks:EdgedCartPole",
        "env.backend": "sync",
        "env.max_episode_steps": 500,
        "env.action_masks": masked,
        "engine": engine,
    }
    return build_session(load_config("CartPole-v1:ppo", overrides).config)


def seconds_of_an_update(s: Session) -> float:
    """Collecting, targets and update: what the loop does before it evaluates and records."""
    began = time.perf_counter()
    hp = s.learner.hyperparameters(s.state.env_steps, s.budget.schedule_steps)
    s.learner.learn(s.source.collect(s.learner.policy, s.rng).rollout, hp, s.rng)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--engine", default="numpy")
    options = parser.parse_args()
    plain, masked = session(False, options.engine), session(True, options.engine)
    samples = plain.envs.n_envs * plain.config.algo.steps
    took: list[tuple[float, float]] = []
    with limit_threads(plain.learner.policy.network, plain.learner.batch_size):
        for turn in range(options.updates):
            first, second = (plain, masked) if turn % 2 else (masked, plain)
            pair = seconds_of_an_update(first), seconds_of_an_update(second)
            took.append(pair if turn % 2 else pair[::-1])
    unmasked_seconds, masked_seconds = (statistics.median(kind) for kind in zip(*took, strict=True))
    ratio = statistics.median(a / b for a, b in took)
    print(f"unmasked {samples / unmasked_seconds:9,.0f} env steps/s")
    print(f"masked   {samples / masked_seconds:9,.0f} env steps/s")
    verdict = "within" if ratio > 1 - MAX_COST else "beyond"
    print(f"ratio    {ratio:.3f}, {verdict} the {MAX_COST:.0%} that masks may cost")


if __name__ == "__main__":
    main()
