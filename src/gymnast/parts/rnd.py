"""Random network distillation (Burda et al., 2019, arXiv:1810.12894).

A predictor learns the outputs of a fixed random network. Where observations are new its error is large, and
the error is the bonus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gymnast.config.values import PositiveCount
from gymnast.metrics.spec import MetricSpec
from gymnast.optimizers.build import build_optimizer
from gymnast.parts.bonus import Bonus, BonusSettings
from gymnast.policies.stack import Stack, build_stack

if TYPE_CHECKING:
    from gymnast.algorithms.algorithm import Hyper
    from gymnast.parts.part import PartContext
    from gymnast.parts.visits import Visited
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions

METRICS = (
    MetricSpec("explore/predictor_loss", "Mean squared error of the predictor while learning.", "", 5, low=0),
)
CLIP = 5.0  # normalised observations are cut to ± this
_CHUNK = 2048  # rows of a forward pass


class RNDConfig(BonusSettings):
    """The squared error of a predictor of random features of the next observation."""

    name: Literal["rnd"] = "rnd"
    hidden: tuple[PositiveCount, ...] = Field(
        (64, 64), description="Width of each hidden layer of the predictor and the random network."
    )
    features: PositiveCount = Field(64, description="Outputs that are predicted.")
    predictor_lr: float = Field(1e-4, gt=0, description="Learning rate of the predictor (Adam).")
    update_fraction: float = Field(
        0.25, gt=0, le=1, description="Share of a rollout's samples that the predictor learns from."
    )
    batch_size: PositiveCount = Field(256, description="Samples of a step of the predictor.")


class RND(Bonus):
    """Bonuses are divided by the running std of their discounted return; no mean is removed.

    Observations are normalised by statistics of their own. The first rollout initialises them before its
    bonus is computed; each later rollout is added after its own bonus.
    """

    Settings: ClassVar[type[BonusSettings]] = RNDConfig
    name = "rnd"
    normalizes = True
    config: RNDConfig

    def __init__(self, config: RNDConfig, context: PartContext) -> None:
        super().__init__(config, context)
        self.inputs = _build_inputs(context)
        network = context.policy.network
        seed = context.config.seed
        self.target, self.predictor = (
            build_stack(
                (self._width(context), *config.hidden, config.features),
                engine="numpy" if network.xp is np else "torch",
                seed=number,
                device="cpu" if network.xp is np else str(network.parameters.device),
            )
            for number in (2 * seed, 2 * seed + 1)
        )
        self.optimizer = build_optimizer(self.predictor)
        self._initialised = False
        self._observed = False  # whether this rollout is in the statistics already
        # Of the rollout whose bonus was computed, for the predictor to learn from
        self._x, self._wanted = np.empty(0, np.float32), np.empty(0, np.float32)

    def _width(self, context: PartContext) -> int:
        form = context.policy.form
        return int(self.inputs.apply(np.zeros((1, *form.shape), form.dtype)).shape[1])

    def novelty(self, obs: np.ndarray) -> np.ndarray:
        """Error of the predictor on observations [B, …]: [B]."""
        return self._errors(self.inputs.apply(obs))[0]

    def _errors(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors [B] of normalised observations, and the target's features [B, F]."""
        wanted = _in_chunks(self.target, x)
        found = _in_chunks(self.predictor, x)
        return np.square(found - wanted).mean(1), wanted

    def next_novelty(self, steps: Transitions) -> np.ndarray:
        """Of the observations that steps led to [T, N]; they are kept for the predictor to learn from."""
        self._observed = not self._initialised
        if not self._initialised:
            self.inputs.observe(steps.next_obs)
            self._initialised = True
        self._x = self.inputs.apply(_flat(steps.next_obs))
        errors, self._wanted = self._errors(self._x)
        return errors.reshape(steps.rewards.shape)

    def bonus(self, rollout: Rollout, steps: Transitions, visited: Visited | None) -> np.ndarray:
        return self.next_novelty(steps)

    def after_update(self, steps: Transitions | None, hp: Hyper, rng: np.random.Generator) -> None:
        assert steps is not None
        self._metrics["explore/predictor_loss"] = self._learn(rng)
        if not self._observed:
            self.inputs.observe(steps.next_obs)
        self._x = self._wanted = np.empty(0, np.float32)

    def _learn(self, rng: np.random.Generator) -> float:
        """One pass over a random share of the samples; the mean loss."""
        net, config = self.predictor, self.config
        n = len(self._x)
        chosen = rng.permutation(n)[: max(1, round(n * config.update_fraction))]
        total: Any = 0.0
        for start in range(0, len(chosen), config.batch_size):
            rows = chosen[start : start + config.batch_size]
            error = net.forward(net.to_engine(self._x[rows])) - net.to_engine(self._wanted[rows])
            size = len(rows) * config.features
            total = total + (error * error).sum() / config.features
            net.backward(error * (2.0 / size))
            self.optimizer.step(config.predictor_lr, 0.0)
        return float(total) / len(chosen)

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "target": self.target.arrays(),
            "predictor": self.predictor.arrays(),
            "optimizer": self.optimizer.state(),
            "inputs": {name: value.copy() for name, value in self.inputs.buffers().items()},
            "initialised": self._initialised,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self.target.load_arrays(state["target"])
        self.predictor.load_arrays(state["predictor"])
        self.optimizer.load_state(state["optimizer"])
        self.inputs.load_buffers(state["inputs"])
        self._initialised = bool(state["initialised"])


def _build_inputs(context: PartContext) -> Any:
    """Observations as rows of numbers: choices one-hot, all other numbers normalised and clipped."""
    from gymnast.policies.layout import build_layout
    from gymnast.policies.preprocess import build_preprocessor
    from gymnast.policies.settings import PolicyConfig

    config = PolicyConfig(encoder="mlp", normalize_obs="running", clip_obs=CLIP, discrete_obs="one_hot")
    envs = context.envs
    return build_preprocessor(build_layout(config, envs.observation_space, envs.action_space))


def _in_chunks(stack: Stack, x: np.ndarray) -> np.ndarray:
    """Outputs [B, F] of a network of one member, as a NumPy array."""
    rows = [stack.infer(stack.to_engine(x[at : at + _CHUNK]))[0] for at in range(0, len(x), _CHUNK)]
    return np.concatenate([row if isinstance(row, np.ndarray) else row.cpu().numpy() for row in rows])


def _flat(obs: np.ndarray) -> np.ndarray:
    """[T, N, …] as [T·N, …]."""
    return obs.reshape(-1, *obs.shape[2:])
