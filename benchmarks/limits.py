"""What no trainer can beat here: raw env stepping alone, and the network's arithmetic alone.

The arithmetic is the matrix products and tanh of a rollout's forward passes and an update's forward
and backward passes, on preallocated arrays, and nothing else: no sampling, loss or optimiser.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from gymnast.envs.settings import EnvConfig

SECONDS = 1.5  # of measuring, after a warm-up
Layers = list[tuple[int, int]]


def per_call(work: Callable[[], object]) -> float:
    """Median seconds of one call."""
    work()
    taken: list[float] = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until or len(taken) < 3:
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2]


def fastest(work: Callable[[], object]) -> float:
    """Median seconds of one call with one BLAS thread or with all of them, whichever is less."""
    with threadpool_limits(1):
        alone = per_call(work)
    return min(alone, per_call(work))


def env_steps_per_second(config: EnvConfig) -> float:
    """Env steps per second with random actions, through the contract that training uses."""
    from gymnast.envs.build import build_envs

    envs = build_envs(config, seed=1)
    n_envs = envs.n_envs
    envs.reset()
    n_actions = int(envs.action_space.n)  # type: ignore[attr-defined]
    drawn = np.random.default_rng(1).integers(0, n_actions, size=(64, n_envs))

    def sixty_four_steps() -> None:
        for actions in drawn:
            envs.step(actions)

    seconds = per_call(sixty_four_steps)
    envs.close()
    return 64 * n_envs / seconds


class Trunk:
    """The products and tanh of one MLP for a fixed batch size."""

    def __init__(self, layers: Layers, batch: int, rng: np.random.Generator) -> None:
        self.weights = [rng.standard_normal(shape, dtype=np.float32) / 8 for shape in layers]
        self.weight_grads = [np.empty_like(weight) for weight in self.weights]
        self.inputs = [rng.standard_normal((batch, fan_in), dtype=np.float32) for fan_in, _ in layers]
        self.input_grads = [np.empty_like(array) for array in self.inputs]
        self.output = rng.standard_normal((batch, layers[-1][1]), dtype=np.float32)

    def forward(self) -> None:
        for i, weight in enumerate(self.weights[:-1]):
            np.matmul(self.inputs[i], weight, out=self.inputs[i + 1])
            np.tanh(self.inputs[i + 1], out=self.inputs[i + 1])
        np.matmul(self.inputs[-1], self.weights[-1], out=self.output)

    def backward(self) -> None:
        grad = self.output
        for i in reversed(range(len(self.weights))):
            np.matmul(self.inputs[i].T, grad, out=self.weight_grads[i])
            if i > 0:  # the gradient of the observations is not needed
                grad = np.matmul(grad, self.weights[i].T, out=self.input_grads[i])


def arithmetic_steps_per_second(
    trunks: list[Layers], n_envs: int, n_steps: int, batch: int, epochs: int
) -> float:
    """Env steps per second if acting and learning were this arithmetic and nothing else."""
    rng = np.random.default_rng(1)
    acting = [Trunk(layers, n_envs, rng) for layers in trunks]
    learning = [Trunk(layers, batch, rng) for layers in trunks]

    def act() -> None:
        for trunk in acting:
            trunk.forward()

    def learn() -> None:
        for trunk in learning:
            trunk.forward()
            trunk.backward()

    act_seconds, learn_seconds = fastest(act), fastest(learn)
    samples = n_envs * n_steps
    return samples / (n_steps * act_seconds + epochs * (samples // batch) * learn_seconds)


def zoo_arithmetic() -> float:
    actor, critic = [(4, 64), (64, 64), (64, 2)], [(4, 64), (64, 64), (64, 1)]
    return arithmetic_steps_per_second([actor, critic], 8, 32, 256, 20)


def huge_arithmetic() -> float:
    # one trunk for both heads: two logits and one value
    return arithmetic_steps_per_second([[(4, 128), (128, 3)]], 4096, 64, 32_768, 1)


def chosen_envs(options: argparse.Namespace) -> EnvConfig:
    from gymnast.config.load import load_config
    from gymnast.envs.settings import EnvConfig

    if options.preset is not None:
        # In one group, which has every core to itself.
        return load_config(options.preset, {"env.backend": options.backend, "env.groups": 1}).config.env
    return EnvConfig(id=options.env, n_envs=options.n_envs, backend=options.backend)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["envs", "arithmetic"])
    parser.add_argument("--preset", help="envs as this preset has them, but for the backend")
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--n-envs", type=int, default=8)
    parser.add_argument("--size", choices=["zoo", "huge"], default="zoo")
    options = parser.parse_args()
    if options.what == "envs":
        sps = env_steps_per_second(chosen_envs(options))
    else:
        sps = zoo_arithmetic() if options.size == "zoo" else huge_arithmetic()
    print(json.dumps({"sps": sps}))


if __name__ == "__main__":
    main()
