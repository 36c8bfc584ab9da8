"""MinAtar's games (Young & Tian, 2019) as `MinAtar/Breakout-v1` and so on; needs the extra `minatar`.

The games are the package's own. What is done here is what its Gymnasium env leaves out: pictures that
stay bytes, labels, seeds that really repeat an episode, a picture to watch, and a state for an exact
resume. `-v1` has the actions that matter in a game, `-v0` all six.
"""

from __future__ import annotations

import colorsys
from typing import Any

import gymnasium as gym
import numpy as np

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
LABELS = ("noop", "left", "up", "right", "down", "fire")  # of MinAtar's actions n, l, u, r, d, f
_TILE = 24  # px of a cell when it is drawn
_FIXED = ("channels", "action_map", "random", "ramping")  # attributes of a game that no step changes


class MinAtarEnv(gym.Env[Any, Any]):
    """A small Atari game on a grid of 10 × 10, a plane of zeros and ones for each kind of thing.

    game: asterix, breakout, freeway, seaquest or space_invaders.
    minimal_actions: only those that do something in this game.
    sticky_action_prob: how often the action before is done once more instead.
    difficulty_ramping: whether a game gets harder with time.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        game: str,
        minimal_actions: bool = True,
        sticky_action_prob: float = 0.1,
        difficulty_ramping: bool = True,
        render_mode: str | None = None,
    ) -> None:
        import minatar

        self.render_mode = render_mode
        self._game = minatar.Environment(game, sticky_action_prob, difficulty_ramping)
        self._actions = self._game.minimal_action_set() if minimal_actions else list(range(len(LABELS)))
        self._seeded = False
        self.action_space = gym.spaces.Discrete(len(self._actions))
        self.observation_space = gym.spaces.Box(0, 1, tuple(self._game.state_shape()), np.uint8)

    def get_action_meanings(self) -> list[str]:
        """What each action does, as ALE's envs name it."""
        return [LABELS[action] for action in self._actions]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._game.seed(int(self.np_random.integers(2**31)))
            self._seeded = True
        self._game.reset()
        self._game.last_action = 0  # otherwise a sticky first action would be one of the episode before
        return self._planes(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward, over = self._game.act(self._actions[int(action)])
        return self._planes(), float(reward), bool(over), False, {}

    def _planes(self) -> np.ndarray:
        planes: np.ndarray = self._game.state()  # a new array each time
        return planes.view(np.uint8)

    def render(self) -> np.ndarray | None:
        if self.render_mode != "rgb_array":
            return None
        planes = self._planes()
        hues = np.arange(planes.shape[2]) / planes.shape[2]
        colours = np.array([[0, 0, 0], *([255 * c for c in colorsys.hsv_to_rgb(h, 0.7, 1.0)] for h in hues)])
        # Where several things are in one cell the first plane is seen: that is the player in every game.
        seen = np.where(planes.any(2), planes.argmax(2) + 1, 0)
        return colours.astype(np.uint8)[seen].repeat(_TILE, 0).repeat(_TILE, 1)

    def get_state(self) -> dict[str, Any]:
        random = self._game.random.get_state(legacy=False)
        inside = {name: value for name, value in vars(self._game.env).items() if name not in _FIXED}
        return {
            "game": inside,
            "last_action": int(self._game.last_action),
            "key": random["state"]["key"],
            "position": int(random["state"]["pos"]),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        vars(self._game.env).update(state["game"])
        self._game.last_action = state["last_action"]
        random = self._game.random.get_state(legacy=False)
        random["state"] = {"key": state["key"], "pos": state["position"]}
        self._game.random.set_state(random)


for _game in GAMES:
    for _version in (0, 1):
        _id = f"MinAtar/{_game.title().replace('_', '')}-v{_version}"
        if _id not in gym.registry:
            gym.register(
                _id,
                entry_point="gymnast.envs.families.minatar:MinAtarEnv",
                kwargs={"game": _game, "minimal_actions": _version == 1},
            )
