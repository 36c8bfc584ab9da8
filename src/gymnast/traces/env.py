"""One env inside a camera, behind the contract: what an episode is recorded on."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.in_process import InProcessEnvs
from gymnast.envs.build import env_seeds
from gymnast.envs.contract import Envs
from gymnast.envs.families.table import family_of
from gymnast.envs.mix.build import mix_form, task_seed
from gymnast.envs.mix.mixed import MixedEnvs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import episode_values, reward_parts
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError, did_you_mean
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.plain import check_spaces
from gymnast.traces.action_text import ActionNames
from gymnast.traces.camera import Camera, View, build_camera
from gymnast.traces.observation_picture import ObservationPicture


class RecordedEnv:
    """Built once; every recording starts from the same seed.

    Of several tasks (`env.mix`) one is played: `task`, or the first. An env object of your own is closed
    with it, and shows its pictures if it was made with render_mode="rgb_array".
    """

    def __init__(
        self,
        env: EnvConfig | gym.Env[Any, Any],
        seed: int,
        task: str | None = None,
        *,
        training: bool = False,
        pictures: bool = True,
    ) -> None:
        """`training` keeps wrappers that are meant for training only; without `pictures` none are taken."""
        self.seed = seed
        self.task: str | None = None
        self._number: int | None = None  # of the task in its mix
        self.choices: slice | None = None  # where this task's own lie among those of a mix with many heads
        self.observation_stack = 1  # frames that the env itself puts into an observation, oldest first
        if isinstance(env, EnvConfig):
            self._build(env, seed, task, training, pictures)
        else:
            if task is not None:
                raise GymnastError(f"task {task!r} is for a config with env.mix, and an env object was given")
            self._wrap(env, seed, pictures)
        self.actions = ActionNames(self.camera.action_space, self.labels)

    def _build(self, config: EnvConfig, seed: int, task: str | None, training: bool, pictures: bool) -> None:
        number, own = _chosen(config, task)
        spec = read_spec(own)
        self.id, self.labels, self.observation_names = own.id, spec.action_labels, spec.observation_names
        if family_of(own.id).name == "atari" and own.atari.obs == "pixels":
            self.observation_stack = own.atari.stack
        self.camera = build_camera(own, training=training, names=spec.observation_names, pictures=pictures)
        self.envs: Envs
        if config.mix is None:
            self.envs = self._behind_contract(seed, masked=own.action_masks)
            return
        self.task, self._number = config.tasks[number].name, number
        single = self._behind_contract(task_seed(seed, number), masked=own.action_masks)
        form = mix_form(config, training=training)
        self.envs = MixedEnvs(form, [(number, single)])
        self.choices = None if form.blocks is None else form.blocks[number]

    def _wrap(self, env: gym.Env[Any, Any], seed: int, pictures: bool) -> None:
        self.id = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        check_spaces(env.observation_space, env.action_space, self.id)
        self.labels, self.observation_names = ActionForm(env.action_space).labels, ()
        self.camera = Camera(env, ObservationPicture(self.id) if pictures else None)
        self.envs = self._behind_contract(seed, masked=False)

    def _behind_contract(self, seed: int, masked: bool) -> InProcessEnvs:
        camera = self.camera
        self._single = InProcessEnvs(
            [camera],
            env_seeds(seed, 1),
            reward_parts(camera),
            masked=masked,
            episode_values=episode_values(camera),
        )
        return self._single

    def reseed(self, seed: int) -> None:
        """Start from another seed at the next reset."""
        self.seed = seed
        self._single.seeds[:] = env_seeds(seed if self._number is None else task_seed(seed, self._number), 1)

    @property
    def fps(self) -> float:
        return self.camera.fps

    @property
    def first(self) -> View:
        """What the env gave after the last reset."""
        assert self.camera.first is not None
        return self.camera.first

    @property
    def latest(self) -> View:
        """What it gave after the last step."""
        assert self.camera.latest is not None
        return self.camera.latest

    def first_picture(self) -> np.ndarray:
        """What every recording begins with."""
        self.envs.reset()
        assert self.first.picture is not None
        return self.first.picture

    def close(self) -> None:
        self.envs.close()


def _chosen(config: EnvConfig, task: str | None) -> tuple[int, EnvConfig]:
    """The task's number and its env; of an env without tasks, the config itself."""
    names = [known.name for known in config.tasks]
    if task is not None and task not in names:
        known = f"the tasks are {', '.join(names)}" if names else f"{config.id} has no tasks"
        raise GymnastError(f"no task {task!r}{did_you_mean(task, names)}; {known}")
    number = 0 if task is None else names.index(task)
    return number, config.tasks[number].env if names else config
