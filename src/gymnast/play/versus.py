"""A person against the policy, in a game for two: Pong, played by PettingZoo.

The policy has the paddle that it learnt with and sees the screen through the same preprocessing. Its
opponent in training was the console itself, so a person is a stranger to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.config.schema import Config
from gymnast.envs.families.atari.games import action_set, facts_of, fire_steps, step_limit
from gymnast.envs.families.atari.views import make_view
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import wrapped
from gymnast.errors import GymnastError, MissingExtra
from gymnast.play.game import Game
from gymnast.play.keymap import KeyMap
from gymnast.runs.checkpoint import Checkpoint
from gymnast.traces.action_text import ActionNames
from gymnast.traces.checkpoint import player_of
from gymnast.traces.env import RecordedEnv
from gymnast.training.evaluator import evaluation_seed

# Ids, and how PettingZoo calls the module of the game for two.
GAMES = {"ALE/Pong-v5": ("pong_v3", "pong")}
_KEYS = {"RIGHT": "up", "LEFT": "down"}  # where the paddle goes
_AGENT, _PERSON = "first_0", "second_0"
NOTE = (
    "You have the left paddle. The policy has only ever met the console's own paddle, and here no action"
    " sticks: what it learnt need not hold."
)


class VersusGame(gym.Env[np.ndarray, Any]):
    """One side of a game for two; the other side is `rival`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012  as Gymnasium has it
    render_mode = "rgb_array"

    def __init__(self, config: EnvConfig) -> None:
        module, rom = GAMES[config.id]
        atari = config.atari
        self.metadata = {**type(self).metadata, "render_fps": 60 / atari.frame_skip}
        self._game = _make(module)
        self._ale = self._game.unwrapped.ale
        facts = facts_of(rom)
        actions = action_set(config, facts)
        self._actions, self.action_labels = actions, actions.labels
        self.action_space = gym.spaces.Discrete(len(actions.codes))
        self._number = {int(code): index for index, code in enumerate(self._game.unwrapped.action_mapping)}
        self._view = make_view(config.id, rom, atari, _Screen(self._ale), facts.screen)
        self.observation_space = self._view.space
        self.observation_names = self._view.names
        self._skip = atari.frame_skip
        self._mask = {"action_mask": actions.minimal.astype(np.int8)} if config.action_masks else {}
        self._fire_steps = fire_steps(config, actions)
        self._limit = self.max_episode_steps = step_limit(config)
        self._fire_left = self._age = 0
        self.rival = 0  # what the other side does, as an action of this space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._game.reset(seed=int(self.np_random.integers(2**31)))
        self._age, self._fire_left = 0, self._fire_steps
        return self._view.begin(), {**self._mask, "rival": self.action_labels[self.rival]}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        code = int(self._actions.codes[action])
        if self._fire_left:
            self._fire_left -= 1
            code = 1
        both = {
            _AGENT: self._number.get(code, 0),
            _PERSON: self._number.get(int(self._actions.codes[self.rival]), 0),
        }
        paid, terminated = 0.0, False
        for before_last in range(self._skip - 1, -1, -1):
            _, rewards, ended, cut, _ = self._game.step(both)
            paid += float(rewards.get(_AGENT, 0))
            if any(ended.values()) or any(cut.values()):
                terminated = True
                break
            self._view.frame(before_last)
        self._age += 1
        truncated = not terminated and self._age >= self._limit
        info = {**self._mask, "rival": self.action_labels[self.rival]}
        return self._view.next(), paid, terminated, truncated, info

    def render(self) -> np.ndarray:
        """The screen that both players see."""
        return np.asarray(self._ale.getScreenRGB())

    def close(self) -> None:
        self._game.close()


class _Screen:
    """The emulator of two players, read as that of one is."""

    def __init__(self, ale: Any) -> None:
        self._ale = ale

    def getScreenGrayscale(self, into: np.ndarray) -> None:  # noqa: N802  as ALE calls it
        into[...] = self._ale.getScreenGrayscale()[..., 0]

    def getScreenRGB(self, into: np.ndarray) -> None:  # noqa: N802
        into[...] = self._ale.getScreenRGB()

    def getRAM(self, into: np.ndarray | None = None) -> np.ndarray:  # noqa: N802
        ram = np.asarray(self._ale.getRAM(), np.uint8)
        if into is not None:
            into[...] = ram
        return ram


def _make(module: str) -> Any:
    if any(find_spec(name) is None for name in ("pettingzoo", "multi_agent_ale_py")):
        raise MissingExtra("--versus", "versus")
    from importlib import import_module

    import ale_py

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it has a registry too, by now
        made = import_module(f"pettingzoo.atari.{module}")
    # ale-py brings the games along: nothing needs to be downloaded.
    return made.parallel_env(num_players=2, auto_rom_install_path=str(Path(ale_py.__file__).parent))


def build_versus(
    config: Config,
    checkpoint: Checkpoint | None,
    *,
    seed: int | None = None,
    stochastic: bool = False,
    **_how: Any,
) -> Game:
    """The policy of a checkpoint on one side, a person on the other."""
    if checkpoint is None:
        raise GymnastError("--versus: there must be a policy to play against: name a run")
    env_config = config.env
    if env_config.mix is not None or env_config.id not in GAMES:
        raise GymnastError(
            f"--versus: {env_config.id} is not a game for two here; there is {', '.join(GAMES)}"
        )
    base = VersusGame(env_config)
    env = RecordedEnv(
        wrapped(base, env_config, training=False), evaluation_seed(config) if seed is None else seed
    )
    env.id, env.actions = env_config.id, ActionNames(env.camera.action_space, base.action_labels)
    if env_config.atari.obs == "pixels":
        env.observation_stack = env_config.atari.stack
    player = player_of(env, config, checkpoint, stochastic=stochastic, seed=seed)
    names = ActionNames(base.action_space, base.action_labels)
    game = Game(
        env,
        config,
        checkpoint,
        player,
        stochastic,
        KeyMap(names, {**_own_keys(names), **config.play.keys}),
        turn_based=False,
        training=False,
        note=NOTE,
    )
    game.rival = _steers(base)
    return game


def _own_keys(names: ActionNames) -> dict[str, str]:
    return {label: key for label, key in _KEYS.items() if label in names.choices}


def _steers(base: VersusGame) -> Callable[[np.ndarray], None]:
    def steer(action: np.ndarray) -> None:
        base.rival = int(action[0])

    return steer
