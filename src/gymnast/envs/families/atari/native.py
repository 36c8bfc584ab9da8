"""The `native` backend of Atari: ale-py's vectorised games, in threads that run while we do not wait.

ALE is left to emulate, to make pictures of the screens and to start a new game in the step that ended the
last. What it does otherwise than the rest of us is done here:

- A lost life (or a point) ends the return's future and leaves the game alone; ALE would begin a new game, so
  that an agent never saw what comes after its first life.
- Rewards are cut after they were counted, so that the training return is that of the game.
- The time limit is ours, since ALE shows a stale screen as the last one of a game that it cuts off.
- FIRE is pressed as the first action of a game or life instead of in a frame before it, which a sticky
  action may swallow.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.in_process import episode_seed
from gymnast.envs.backends.native import why_single
from gymnast.envs.contract import CannotCapture, EnvFailure, Step, pass_on_ctrl_c
from gymnast.envs.families.atari.games import (
    FIRE,
    action_set,
    check_kwargs,
    check_size,
    facts_of,
    fire_steps,
    rom_of,
    rom_path,
    step_limit,
)
from gymnast.envs.measure.cache import cores_of_a_group
from gymnast.envs.settings import EnvConfig
from gymnast.envs.states import episodes_in

_NO_SEED = -1  # ALE: continue with the random numbers there are
_NEVER = 2**31 - 1


def why_not_native(config: EnvConfig, *, training: bool, render_mode: str | None) -> str | None:
    """Why ale-py's vectorised games cannot play this, or None if they can."""
    if (reason := why_single(config, training=training, render_mode=render_mode)) is not None:
        return reason
    atari = config.atari
    if atari.obs != "pixels":
        return f"ale-py's vectorised games show pixels alone, not {atari.obs}"
    for name in ("mode", "difficulty"):
        if getattr(atari, name) is not None:
            return f"ale-py's vectorised games have no switch for env.atari.{name}"
    return None


def build_native(config: EnvConfig, seeds: list[int], *, training: bool, groups: int) -> NativeAtari:
    """The games of a config; `why_not_native` must have returned None."""
    return NativeAtari(config, seeds, training=training, groups=groups)


class NativeAtari(CannotCapture):
    """N games behind the contract. Observations are ALE's own arrays, new in each step: none is copied."""

    backend = "native"
    carries_state = False
    episode_values: tuple[str, ...] = ()
    restarts = 0  # games in threads cannot be replaced

    def __init__(self, config: EnvConfig, seeds: list[int], *, training: bool, groups: int = 1) -> None:
        check_kwargs(config)
        atari = config.atari
        rom = rom_of(config.id)
        self.n_envs = len(seeds)
        self.seeds = list(seeds)
        facts = facts_of(rom)
        check_size(config, facts)
        self._actions = action_set(config, facts)
        self.action_space = gym.spaces.Discrete(len(self._actions.codes))
        channels = () if atari.grayscale else (3,)
        self.observation_space = gym.spaces.Box(0, 255, (atari.stack, *atari.size, *channels), np.uint8)
        self._clip = training and atari.clip_reward
        self._lives_end = training and atari.episodic_life
        self._points_end = training and atari.episodic_point
        self.reward_parts: tuple[str, ...] = ("clip",) if self._clip else ()
        self.masks = np.tile(self._actions.minimal, (self.n_envs, 1)) if config.action_masks else None
        self._fire = _PressesFire(fire_steps(config, self._actions), self.n_envs)
        self._limit = step_limit(config)
        self._ages = np.zeros(self.n_envs, np.int64)  # steps into each game
        self._lives = np.zeros(self.n_envs, np.int32)
        self._episodes = [0] * self.n_envs  # games started so far, each
        self._strength = np.ones(self.n_envs, np.float32)  # of the joystick, where it is an analogue one
        self._waiting = False
        self._ale = _vector_interface(config, rom, self.n_envs, groups)

    def reset(self) -> np.ndarray:
        self._episodes = [0] * self.n_envs
        return self._start(np.arange(self.n_envs), np.array(self.seeds))

    def _start(self, indices: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Begin new games in some envs; the observations of all."""
        if self._waiting:  # a caller that gave up after a failure starts again
            self._waiting = False
            self._ale.recv()
        obs, info = self._ale.reset(indices, seeds)
        self._begun(indices)
        self._lives[indices] = info["lives"][indices]
        return np.asarray(obs)

    def _begun(self, indices: np.ndarray) -> None:
        self._ages[indices] = 0
        self._fire.again(indices)
        for index in indices.tolist():
            self._episodes[index] += 1

    def step(self, actions: np.ndarray) -> Step:
        self.send(actions)
        return self.receive()

    def send(self, actions: np.ndarray) -> None:
        if self._waiting:
            raise RuntimeError("send was called twice without receive")
        codes = self._fire.codes(self._actions.codes[actions])
        self._waiting = True
        self._ale.send(codes, self._strength)

    def receive(self) -> Step:
        if not self._waiting:
            raise RuntimeError("receive was called without send")
        self._waiting = False
        try:
            return self._received()
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise EnvFailure(0, self.seeds[0], f"raised {type(error).__name__}: {error}") from error

    def _received(self) -> Step:
        obs, paid, terminated, truncated, info = self._ale.recv()
        rewards = paid.astype(np.float64)
        step = Step(obs, rewards, terminated, truncated, None)
        if self._clip:
            step.rewards = np.clip(rewards, -1.0, 1.0)
            step.reward_parts = {"clip": step.rewards - rewards}
        self._ages += 1
        lives = info["lives"]
        over = terminated
        if terminated.any():
            step.final_obs = info["final_obs"]
            self._begun(np.flatnonzero(terminated))
        if self._ages.max() >= self._limit:
            over = self._cut_off(step, lives)
        lost = (lives < self._lives) & ~over
        self._lives = lives
        if lost.any():
            self._fire.again(lost)
        if self._lives_end or self._points_end:
            ended = lost if self._lives_end else np.zeros_like(lost)
            if self._points_end:
                ended = ended | ((paid != 0) & ~over)
            if ended.any():
                self._end_future(step, ended)
        return step

    def _cut_off(self, step: Step, lives: np.ndarray) -> np.ndarray:
        """End the games that reached the limit; where any game ended, by this or by itself."""
        step.truncated = self._ages >= self._limit
        indices = np.flatnonzero(step.truncated)
        if step.final_obs is None:
            step.final_obs = step.obs
        elif len(indices):
            step.final_obs[indices] = step.obs[indices]
        step.obs = self._start(indices, np.full(len(indices), _NO_SEED))
        lives[indices] = self._lives[indices]
        return step.terminated | step.truncated

    def _end_future(self, step: Step, where: np.ndarray) -> None:
        """No value is expected beyond this step of some games, which continue."""
        if step.final_obs is None:
            step.final_obs = step.obs  # no game is new: what is seen last is what is seen next
        else:
            step.final_obs[where] = step.obs[where]
        step.terminated = step.terminated | where
        step.life_lost = where

    def snapshot(self) -> dict[str, Any]:
        return {"kind": "atari", "episodes": list(self._episodes)}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        """ALE's vectorised games cannot be put back: each begins a game with random numbers of its own."""
        played = list(snapshot.get("episodes", ())) if snapshot.get("kind") == "atari" else []
        self._episodes = (played + [episodes_in(snapshot)] * self.n_envs)[: self.n_envs]
        seeds = [episode_seed(seed, count) for seed, count in zip(self.seeds, self._episodes, strict=True)]
        return self._start(np.arange(self.n_envs), np.array(seeds))

    def close(self) -> None:
        self._ale = None  # its threads end with it


def _vector_interface(config: EnvConfig, rom: str, n_envs: int, groups: int) -> Any:
    from ale_py import ALEVectorInterface

    atari = config.atari
    height, width = atari.size
    return ALEVectorInterface(
        rom_path=rom_path(rom),
        num_envs=n_envs,
        frame_skip=atari.frame_skip,
        stack_num=atari.stack,
        img_height=height,
        img_width=width,
        grayscale=atari.grayscale,
        maxpool=atari.max_pool,
        noop_max=atari.noop_max,
        use_fire_reset=False,
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=False,
        max_episode_steps=_NEVER,
        repeat_action_probability=atari.sticky,
        full_action_space=True,  # so that an action is ALE's own number
        batch_size=n_envs,
        num_threads=min(n_envs, atari.threads or cores_of_a_group(groups)),
        thread_affinity_offset=-1,
        autoreset_mode="SameStep",
    )


class _PressesFire:
    """Puts FIRE in the place of the first actions of a game or life."""

    def __init__(self, steps: int, n_envs: int) -> None:
        self._steps = steps
        self._left = np.zeros(n_envs, np.int64)
        self._pressing = False

    def again(self, envs: np.ndarray) -> None:
        """A game or life begins in these envs (indices or a mask)."""
        if self._steps:
            self._left[envs] = self._steps
            self._pressing = True

    def codes(self, codes: np.ndarray) -> np.ndarray:
        """ALE's numbers of what is really done; `codes` is changed."""
        if self._pressing:
            codes[self._left > 0] = FIRE
            self._left -= 1
            self._pressing = bool((self._left > 0).any())
        return codes
