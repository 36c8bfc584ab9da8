"""One game of Doom as a Gymnasium env."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from gymnast.envs.families.doom import engine
from gymnast.envs.families.doom.buttons import (
    all_combinations,
    button_rows,
    checked_buttons,
    chosen_combinations,
    label_of,
    possible_mask,
)
from gymnast.envs.families.doom.scenarios import SCENARIOS, Scenario
from gymnast.envs.families.doom.screen import shrinking, to_gray
from gymnast.envs.families.doom.settings import DoomRewards, VizDoomConfig
from gymnast.envs.families.doom.setup import (
    VARIABLES,
    choose_map,
    game_variables,
    known_buttons,
    scenario_game,
)
from gymnast.envs.families.doom.shaping import Shaping, amount
from gymnast.errors import GymnastError, did_you_mean

if TYPE_CHECKING:
    from gymnast.envs.settings import EnvConfig

_SEEDS = 2**31  # the engine's seeds are of 32 bits
_MOST_LOST = 10  # engines of one env that may be replaced

logger = logging.getLogger("gymnast")


class DoomEnv(gym.Env[Any, Any]):
    """A scenario or map of Doom, played by combinations of buttons.

    The engine is a process of its own, started by the first reset. Every episode has a seed, drawn from
    `np_random`: the same seed and the same actions give the same frames.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 35}  # noqa: RUF012  Gymnasium's own name and form

    def __init__(
        self,
        scenario: str,
        settings: VizDoomConfig | dict[str, Any] | None = None,
        *,
        state: str | None = None,
        actions: tuple[str, ...] | None = None,
        action_masks: bool = False,
        shaped: bool = True,
        render_mode: str | None = None,
    ) -> None:
        """`state` is the map; `actions` are labels; `shaped` pays the further rewards of the settings."""
        settings = VizDoomConfig.model_validate(settings or {})
        played = _scenario(scenario)
        self.render_mode = render_mode
        self._scenario, self._settings = played, settings
        in_colours = render_mode is not None or not settings.grayscale
        self._game = scenario_game(played, settings, in_colours=in_colours)
        choose_map(self._game, played, state, settings.wad)
        self._choose_actions(actions, action_masks)
        self._choose_view()
        self._shaping = Shaping(settings.rewards if shaped else DoomRewards())
        self.reward_parts = tuple(self._shaping.weights)
        finished = ("level_complete",) if played.whole_game else ()
        self.episode_values = ("kills", "health", "ammo", "items", *finished)
        self.metadata = {**self.metadata, "render_fps": round(35 / settings.frame_skip)}
        # The engine would end an episode without its last screen: the timeout is ours to watch.
        self._timeout = self._game.get_episode_timeout()
        self._game.set_episode_timeout(0)
        self.max_episode_steps = -(-self._timeout // settings.frame_skip) or None
        self._deadline: float = 0  # in tics of the episode; 0: none
        self._running = False
        self._screen: np.ndarray = np.zeros(0, np.uint8)  # as the engine drew it last
        self._obs: Any = None  # as the agent saw it last
        self._lost = 0  # engines that ended before their time
        self._seed = 0
        self._played: list[int] = []  # actions of this episode, for `get_state`

    def _choose_actions(self, labels: tuple[str, ...] | None, masked: bool) -> None:
        settings, scenario = self._settings, self._scenario
        known = known_buttons()
        own = scenario.buttons or tuple(button.name for button in self._game.get_available_buttons())
        buttons = [button for button in own if button in known]
        if settings.buttons is not None:
            buttons = checked_buttons(settings.buttons, list(known))
        if labels is not None:
            pressed = chosen_combinations(labels, buttons)
        else:
            most = settings.max_pressed or scenario.max_pressed
            pressed = all_combinations(buttons, most, impossible=masked)
        self._game.set_available_buttons([known[button] for button in buttons])
        self._presses = button_rows(pressed, buttons)
        self._labels = [label_of(combination) for combination in pressed]
        self._mask = possible_mask(pressed) if masked else None
        self.action_space = gym.spaces.Discrete(len(pressed))

    def _choose_view(self) -> None:
        settings, game = self._settings, self._game
        drawn = game.get_screen_height(), game.get_screen_width()
        size = settings.size or drawn
        self._shrink = shrinking(drawn, size, settings.resize)
        self._to_gray = settings.grayscale and game.get_screen_channels() == 3
        shape = size if settings.grayscale else (*size, 3)
        screen = gym.spaces.Box(0, 255, shape, np.uint8)
        self._variables = game_variables(game, settings.variables)
        game.set_available_game_variables([])  # they are read one by one, also when there is no screen
        if not self._variables:
            self.observation_space: gym.Space[Any] = screen
            return
        numbers = gym.spaces.Box(-np.inf, np.inf, (len(self._variables),), np.float32)
        self.observation_space = gym.spaces.Dict({"screen": screen, "variables": numbers})

    def get_action_meanings(self) -> list[str]:
        """The labels of the actions."""
        return list(self._labels)

    def variable(self, name: str) -> float:
        """A game variable by the engine's name, such as HEALTH or POSITION_X, as it is now."""
        return float(self._game.get_game_variable(VARIABLES[name]))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._begin(int(self.np_random.integers(_SEEDS))), self._info()

    def _begin(self, seed: int) -> Any:
        game = self._game
        self._seed, self._played = seed, []
        try:
            self._new_episode(seed)
        except engine.GONE as error:
            self._replace_engine(error)
            self._new_episode(seed)
        self._deadline = game.get_episode_time() + self._timeout if self._timeout else 0
        self._shaping.begin(self.variable)
        return self._seen(game.get_state())

    def _new_episode(self, seed: int) -> None:
        if not self._running:
            engine.start(self._game)
            self._running = True
        self._game.set_seed(seed)
        self._game.new_episode()

    def _replace_engine(self, error: Exception) -> None:
        """The engine has ended (killed, out of memory): the next episode starts another."""
        self._lost += 1
        if self._lost > _MOST_LOST:
            raise error
        logger.warning("an engine of Doom is gone (%s); its episode is cut off, another is started", error)
        self.close()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        game = self._game
        tics = self._settings.frame_skip
        if self._deadline:
            tics = min(tics, int(self._deadline - game.get_episode_time()))
        try:
            reward = game.make_action(self._presses[action], tics)
        except engine.GONE as error:
            self._replace_engine(error)
            info = {**self._info(), "env_lost": True}
            if self.reward_parts:
                info["reward_parts"] = dict.fromkeys(self.reward_parts, 0.0)
            return self._obs, 0.0, False, True, info
        self._played.append(int(action))
        state = game.get_state()  # none after the last tic of an episode that has ended
        terminated = state is None
        truncated = not terminated and 0 < self._deadline <= game.get_episode_time()
        info = self._info()
        died = terminated and game.is_player_dead()
        if self.reward_parts:
            shares = self._shaping.shares(self.variable, playing=not terminated, died=died)
            reward += sum(shares.values())
            info["reward_parts"] = shares
        if terminated or truncated:
            info |= {name: amount(name, self.variable) for name in ("kills", "health", "ammo", "items")}
            if self._scenario.whole_game:
                info["level_complete"] = float(terminated and not died)
        return self._seen(state), reward, terminated, truncated, info

    def _info(self) -> dict[str, Any]:
        return {} if self._mask is None else {"action_mask": self._mask}

    def _seen(self, state: Any) -> Any:
        if state is not None:
            self._screen = state.screen_buffer
        screen = self._shrink(to_gray(self._screen) if self._to_gray else self._screen)
        self._obs = screen
        if self._variables:
            numbers = [self._game.get_game_variable(variable) for _, variable in self._variables]
            self._obs = {"screen": screen, "variables": np.array(numbers, np.float32)}
        return self._obs

    def render(self) -> Any:
        """The screen as it was drawn, in colours: [height, width, 3]."""
        if self.render_mode is None:
            return None
        return self._screen.copy()

    def get_state(self) -> dict[str, Any]:
        """How the episode came to where it is: the engine does the same again for the same actions."""
        return {"seed": self._seed, "actions": list(self._played)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._begin(int(state["seed"]))
        for action in state["actions"]:
            self.step(action)

    def close(self) -> None:
        if self._running:
            self._running = False
            self._game.close()


def _scenario(name: str) -> Scenario:
    if name not in SCENARIOS:
        raise GymnastError(f"unknown scenario '{name}'{did_you_mean(name, SCENARIOS)}")
    return SCENARIOS[name]


def build_game(config: EnvConfig, *, training: bool, render_mode: str | None) -> gym.Env[Any, Any]:
    """The game of `config.id`; evaluation counts the scenario's own reward alone."""
    env: gym.Env[Any, Any] = DoomEnv(
        config.id,
        config.vizdoom,
        state=config.state,
        actions=config.actions,
        action_masks=config.action_masks,
        shaped=training,
        render_mode=render_mode,
        **config.resolved_kwargs,
    )
    if config.max_episode_steps is not None:
        env = gym.wrappers.TimeLimit(env, config.max_episode_steps)
    return env
