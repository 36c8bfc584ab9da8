"""A single Atari game as a Gymnasium env: for videos, wrappers, RAM and objects.

It plays by the same rules as `native.py` and shows the same pictures, so a policy may go from one to the
other. Unlike there, a resume is exact.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.families.atari.games import (
    FIRE,
    action_set,
    check_kwargs,
    check_size,
    facts_of,
    fire_steps,
    load_ale,
    rom_of,
    rom_path,
    step_limit,
)
from gymnast.envs.families.atari.sticky import StickyAction
from gymnast.envs.families.atari.views import make_view
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

_NOOP = 0  # ALE's number


class AtariGame(gym.Env[np.ndarray, Any]):
    """An Atari 2600 game, played on the Arcade Learning Environment."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"]}  # noqa: RUF012  as Gymnasium has it

    def __init__(self, config: EnvConfig, *, training: bool = True, render_mode: str | None = None) -> None:
        atari = config.atari
        rom = rom_of(config.id)
        self.render_mode = render_mode
        self.metadata = {**type(self).metadata, "render_fps": 60 / atari.frame_skip}
        self._id, self._rom_path = config.id, rom_path(rom)
        self._ale = load_ale()
        self._ale.setFloat("repeat_action_probability", atari.sticky)
        if render_mode == "human":
            self._ale.setBool("display_screen", True)
            self._ale.setBool("sound", True)
        self._atari = atari
        self._sticky = StickyAction(self._ale, atari.sticky)
        self._loaded = False  # it takes a tenth of a second, and a seed asks for it anyway
        if atari.mode is not None or atari.difficulty is not None:
            self._load()
        facts = facts_of(rom)
        actions = action_set(config, facts)
        self.action_labels = actions.labels
        self.action_space = gym.spaces.Discrete(len(actions.codes))
        self._codes = actions.codes.tolist()
        self._masked = {"action_mask": actions.minimal.astype(np.int8)} if config.action_masks else {}
        if atari.obs == "pixels":
            check_size(config, facts)
        self._view = make_view(config.id, rom, atari, self._ale, facts.screen)
        self.observation_space = self._view.space
        self.observation_names = self._view.names
        self._clip = training and atari.clip_reward
        self._lives_end = training and atari.episodic_life
        self._points_end = training and atari.episodic_point
        self.reward_parts: tuple[str, ...] = ("clip",) if self._clip else ()
        self._fire_steps = fire_steps(config, actions)
        self._limit = self.max_episode_steps = step_limit(config)
        self.reports_life_lost = self._lives_end or self._points_end
        self._fire_left = self._lives = self._age = 0
        self._screen: np.ndarray | None = None  # of a state that was set, until ALE draws the next

    def _load(self) -> None:
        """Put the cartridge in and set its switches, where ALE checks that there are such positions."""
        self._ale.loadROM(self._rom_path)
        self._loaded = True
        self._sticky.loaded()
        for name, wanted, known, turn in (
            ("mode", self._atari.mode, self._ale.getAvailableModes, self._ale.setMode),
            (
                "difficulty",
                self._atari.difficulty,
                self._ale.getAvailableDifficulties,
                self._ale.setDifficulty,
            ),
        ):
            if wanted is None:
                continue
            if wanted not in known():
                there = ", ".join(map(str, known()))
                raise GymnastError(f"env.atari.{name}: {self._id} has no {name} {wanted}; it has {there}")
            turn(wanted)

    def get_action_meanings(self) -> list[str]:
        """ALE's names of the actions, in the order of the action space."""
        return list(self.action_labels)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._ale.setInt("random_seed", seed % 2**31)
        if seed is not None or not self._loaded:
            self._load()
        self._ale.reset_game()
        # As many as ale-py's vectorised games wait.
        waiting = int(self.np_random.integers(0, self._atari.noop_max)) if self._atari.noop_max else 0
        self._sticky.asked(_NOOP, waiting)
        for _ in range(waiting):
            self._ale.act(_NOOP)
            if self._ale.game_over():
                self._ale.reset_game()
        self._screen = None
        self._age, self._lives, self._fire_left = 0, self._ale.lives(), self._fire_steps
        return self._view.begin(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        code = self._codes[action]
        if self._fire_left:
            self._fire_left -= 1
            code = FIRE
        act, over, seen = self._ale.act, self._ale.game_over, self._view.frame
        paid, terminated = 0, False
        for before_last in range(self._atari.frame_skip - 1, -1, -1):
            paid += act(code)
            if over():
                terminated = True
                break
            seen(before_last)
        self._sticky.asked(code, self._atari.frame_skip - before_last)
        self._screen = None
        self._age += 1
        truncated = not terminated and self._age >= self._limit
        info = self._info()
        lives = info["lives"]
        if not (terminated or truncated):
            lost = lives < self._lives
            if lost:
                self._fire_left = self._fire_steps
            if (lost and self._lives_end) or (paid and self._points_end):
                info["life_lost"] = True  # learning takes it for an end; to all layers the game continues
        self._lives = lives
        reward = float(paid)
        if self._clip:
            reward = max(-1.0, min(1.0, reward))
            info["reward_parts"] = {"clip": reward - paid}
        return self._view.next(), reward, terminated, truncated, info

    def _info(self) -> dict[str, Any]:
        return {"lives": self._ale.lives(), **self._masked}

    def render(self) -> np.ndarray | None:
        """The screen as the game shows it, [height, width, 3]; a window is drawn by ALE itself."""
        if self.render_mode != "rgb_array":
            return None
        return np.asarray(self._ale.getScreenRGB()) if self._screen is None else self._screen.copy()

    def get_state(self) -> dict[str, Any]:
        """All of the game, its random numbers included."""
        return {
            "screen": self.render(),
            "sticky": self._sticky.get(),
            "ale": self._ale.cloneState(include_rng=True).serialize(),
            "view": self._view.get_state(),
            "counters": [self._fire_left, self._lives, self._age],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        from ale_py import ALEState

        self._sticky.set(state["sticky"])
        self._ale.restoreState(ALEState(state["ale"]))
        self._view.set_state(state["view"])
        self._fire_left, self._lives, self._age = state["counters"][:3]  # older runs wrote a fourth
        self._screen = state["screen"]  # ALE's own is that of the game before until its next frame


def build_game(config: EnvConfig, *, training: bool = True, render_mode: str | None = None) -> AtariGame:
    """One game of a config; clipping and lives that end episodes are for training alone."""
    check_kwargs(config)
    return AtariGame(config, training=training, render_mode=render_mode)
