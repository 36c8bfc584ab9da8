"""Wrappers that disturb what the agent sees or does. They are for training: evaluation leaves them out
unless `eval.training_wrappers` is set.

Each env has random numbers of its own, drawn from the seed of its first reset and kept across a
resume. A schedule moves with the steps of the env itself, not of the run: with 8 envs,
`{start: 0.5, end: 0, until: 10k}` has reached 0 after 80,000 env steps of the run.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from pydantic import ValidationError

from gymnast.config.schedules import Schedule
from gymnast.envs.states import random_state, set_random_state
from gymnast.envs.wrappers.base import EnvWrapper
from gymnast.errors import GymnastError
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.plain import random_actions

_STREAM = 0x2015E  # sets these numbers apart from others drawn from the same seed
Amount = float | dict[str, Any]


class _Noisy(EnvWrapper):
    """A generator and a count of steps."""

    training_only = True

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._random = np.random.default_rng()
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._random = np.random.default_rng([seed, _STREAM])
        return self.env.reset(seed=seed, options=options)

    def get_state(self) -> dict[str, Any]:
        return {"random": random_state(self._random), "steps": self._steps}

    def set_state(self, state: dict[str, Any]) -> None:
        set_random_state(self._random, state["random"])
        self._steps = int(state["steps"])


class ObservationNoise(_Noisy):
    """Add Gaussian noise to every number of the observation; pixels stay within 0 to 255.

    Choices (Discrete, MultiDiscrete, MultiBinary) are left as they are.

    std: in the observation's own units; a number, or a schedule over this env's steps.
    """

    def __init__(self, env: gym.Env[Any, Any], std: Amount) -> None:
        super().__init__(env)
        self._std = _amount("observation-noise", "std", std)
        if not any(isinstance(leaf, gym.spaces.Box) for leaf in _leaves(env.observation_space)):
            raise GymnastError(
                f"wrapper 'observation-noise': {env.observation_space} has no numbers to disturb"
            )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = super().reset(seed=seed, options=options)
        return self._disturbed(self.observation_space, obs, self._std.at(self._steps, 0)), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        obs = self._disturbed(self.observation_space, obs, self._std.at(self._steps, 0))
        return obs, reward, terminated, truncated, info

    def _disturbed(self, space: gym.Space[Any], obs: Any, std: float) -> Any:
        if isinstance(space, gym.spaces.Dict):
            return {key: self._disturbed(part, obs[key], std) for key, part in space.spaces.items()}
        if isinstance(space, gym.spaces.Tuple):
            return tuple(self._disturbed(part, ob, std) for part, ob in zip(space.spaces, obs, strict=True))
        if not isinstance(space, gym.spaces.Box):
            return obs
        noisy = obs + std * self._random.standard_normal(space.shape)
        if np.issubdtype(space.dtype, np.integer):
            noisy = np.clip(np.rint(noisy), space.low, space.high)
        return noisy.astype(space.dtype)


class ActionNoise(_Noisy):
    """Disturb actions: Gaussian noise on numbers, now and then a random choice instead of the agent's.

    Numbers stay within the action's bounds. Of several choices each is replaced by itself; where there
    is an action mask only what it allows is drawn.

    std: of the noise on Box actions, in their own units; a number, or a schedule over this env's steps.
    probability: of a random choice; a number, or a schedule over this env's steps.
    """

    def __init__(self, env: gym.Env[Any, Any], std: Amount = 0.0, probability: Amount = 0.0) -> None:
        super().__init__(env)
        name = "action-noise"
        self._std = _amount(name, "std", std)
        self._probability = _amount(name, "probability", probability, most=1.0)
        leaves = _leaves(env.action_space)
        numbers = any(isinstance(leaf, gym.spaces.Box) for leaf in leaves)
        choices = any(not isinstance(leaf, gym.spaces.Box) for leaf in leaves)
        for argument, schedule, applies in (
            ("std", self._std, numbers),
            ("probability", self._probability, choices),
        ):
            if schedule.bounds()[1] > 0 and not applies:
                other = "probability" if argument == "std" else "std"
                raise GymnastError(f"wrapper '{name}': {env.action_space} takes {other}, not {argument}")
        if self._std.bounds()[1] == 0 == self._probability.bounds()[1]:
            wanted = " or ".join(w for w, there in (("std", numbers), ("probability", choices)) if there)
            raise GymnastError(f"wrapper '{name}': give a {wanted} above 0, otherwise it does nothing")
        self._form = ActionForm(env.action_space)
        self._reader = MaskReader(env.action_space)
        self._allowed = np.ones((1, self._form.n_logits), np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = super().reset(seed=seed, options=options)
        self._remember(info)
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        std, probability = self._std.at(self._steps, 0), self._probability.at(self._steps, 0)
        obs, reward, terminated, truncated, info = self.env.step(self._disturbed(action, std, probability))
        self._steps += 1
        self._remember(info)
        return obs, reward, terminated, truncated, info

    def _remember(self, info: dict[str, Any]) -> None:
        mask = info.get("action_mask")
        if mask is None:
            self._allowed[:] = True
        else:
            self._reader.read(mask, self._allowed[0])

    def _disturbed(self, action: Any, std: float, probability: float) -> Any:
        form = self._form
        flat = form.flatten(action)
        if form.n_logits:
            drawn = random_actions(self.action_space, 1, self._random, self._allowed).reshape(-1)
            replaced = self._random.random(form.n_columns) < probability
            replaced[form.real_columns] = False
            flat[replaced] = drawn[replaced]
        if form.n_means:
            flat[form.real_columns] += std * self._random.standard_normal(form.n_means)
        return form.each(flat[None])[0]  # within the bounds

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "allowed": self._allowed.tolist()}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._allowed[:] = state["allowed"]


def _leaves(space: gym.Space[Any]) -> list[gym.Space[Any]]:
    if isinstance(space, gym.spaces.Dict):
        return [leaf for part in space.spaces.values() for leaf in _leaves(part)]
    if isinstance(space, gym.spaces.Tuple):
        return [leaf for part in space.spaces for leaf in _leaves(part)]
    return [space]


def _amount(wrapper: str, argument: str, value: Any, most: float = float("inf")) -> Schedule:
    """A number or a schedule in this env's own steps."""
    try:
        schedule = Schedule.model_validate(value)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise GymnastError(f"wrapper '{wrapper}': {argument}: {problem}") from error
    least, greatest = schedule.bounds()
    if least < 0 or greatest > most:
        bound = f"from 0 to {most:g}" if most < float("inf") else "at least 0"
        raise GymnastError(f"wrapper '{wrapper}': {argument} must be {bound}, not {value!r}")
    if schedule.kind == "points":
        positions = [at for at, _ in schedule.points]
    else:
        positions = [] if schedule.kind == "constant" else [schedule.begin, schedule.until]
    if any(0 < at <= 1 for at in positions):
        raise GymnastError(
            f"wrapper '{wrapper}': the schedule of {argument} goes by this env's own steps, so its positions"
            " are numbers of steps, for example until: 10k; an env does not know the run's budget"
        )
    return schedule
