"""Playing episodes before a camera: what is seen, done, paid and expected at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gymnast.config.schema import Config
from gymnast.envs.backends.in_process import InProcessEnvs
from gymnast.envs.build import env_seeds
from gymnast.envs.contract import Envs
from gymnast.envs.mix.build import mix_form, task_seed
from gymnast.envs.mix.mixed import MixedEnvs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError, did_you_mean
from gymnast.policies.policy import Policy
from gymnast.video.action_text import action_text
from gymnast.video.camera import build_camera


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture of an episode, with what led to it."""

    picture: np.ndarray  # [height, width, 3] uint8, as the env shows it
    episode: int  # from 0
    step: int  # 0: the episode's first observation
    action: str | None  # that led here; None before the first
    reward: float | None
    total: float  # return so far
    value: float | None  # what the critic still expects; None where it is not asked
    ending: str | None  # why this is the episode's last picture, if it is


@dataclass(frozen=True, slots=True)
class Player:
    """A policy, and how it is to act."""

    policy: Policy
    rng: np.random.Generator | None = None  # samples actions; None: greedy
    value_scale: float | None = 1.0  # the critic's unit in rewards of the env; None: it learnt nothing


class Stage:
    """One env before a camera, built once; every `play` starts from the same seed.

    Of several tasks (`env.mix`) one is played: `task`, or the first.
    """

    def __init__(self, config: Config, seed: int, task: str | None = None) -> None:
        number, env = _chosen(config.env, task)
        self.task = None if config.env.mix is None else config.env.tasks[number].name
        seed = seed if config.env.mix is None else task_seed(seed, number)
        spec = read_spec(env)
        self.labels = spec.action_labels
        training = config.eval.training_wrappers
        self.camera = build_camera(env, training=training, names=spec.observation_names)
        single = InProcessEnvs([self.camera], env_seeds(seed, 1), masked=env.action_masks)
        self.envs: Envs = single
        if config.env.mix is not None:
            self.envs = MixedEnvs(mix_form(config.env, training=training), [(number, single)])

    @property
    def fps(self) -> float:
        return self.camera.fps

    def first_picture(self) -> np.ndarray:
        """What every `play` begins with."""
        self.envs.reset()
        return self._picture()

    def play(self, player: Player, episodes: int, max_steps: int) -> Iterator[Shot]:
        """Shots of whole episodes; after `max_steps` in all, the one that runs is broken off."""
        policy, envs = player.policy, self.envs
        obs, state = envs.reset(), policy.start(1, critic=player.value_scale is not None)
        steps = 0
        for episode in range(episodes):
            shot = Shot(self._picture(), episode, 0, None, None, 0.0, self._value(player, obs, state), None)
            while shot.ending is None:
                yield shot
                actions = policy.env_actions(obs, player.rng, envs.masks, state)
                step = envs.step(actions)
                obs, reward = step.obs, float(step.rewards[0])
                steps += 1
                done = bool(step.terminated[0] or step.truncated[0])
                ending: str | None = "cut here" if steps >= max_steps else None
                if done:
                    ending = "end" if step.terminated[0] else "time is up"
                    state.reset(np.ones(1, bool))
                shot = Shot(
                    picture=self._picture(after_step=True),
                    episode=episode,
                    step=shot.step + 1,
                    action=action_text(self.camera.action_space, self.labels, self.camera.action),
                    reward=reward,
                    total=shot.total + reward,
                    value=None if done else self._value(player, obs, state),
                    ending=ending,
                )
            yield shot
            if steps >= max_steps:
                return

    def close(self) -> None:
        self.envs.close()

    def _picture(self, *, after_step: bool = False) -> np.ndarray:
        picture = self.camera.latest if after_step else self.camera.first
        assert picture is not None
        return picture

    @staticmethod
    def _value(player: Player, obs: np.ndarray, state: object) -> float | None:
        if player.value_scale is None:
            return None
        return float(player.policy.values(obs, state).flat[0]) * player.value_scale


def _chosen(config: EnvConfig, task: str | None) -> tuple[int, EnvConfig]:
    """The task's number and its env; of a plain env, the whole of it."""
    names = [known.name for known in config.tasks]
    if task is not None and task not in names:
        there = f"there are {', '.join(names)}" if names else f"{config.id} is one alone"
        raise GymnastError(f"no task {task!r}{did_you_mean(task, names)}; {there}")
    number = 0 if task is None else names.index(task)
    return number, config.tasks[number].env if names else config
