"""What happens in a game from its variables: levels finished, lives lost, nothing gained; and what ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from gymnast.envs.families.retro.tables import LEVELS_DONE, PROGRESS

LEVEL_COMPLETE = "level_complete"


class RetroEpisodes(gym.Wrapper[Any, Any, Any, Any]):
    """Adds the made variables and the levels finished to `info`, and ends episodes as asked.

    variables: made of others, as weighted sums.
    level: the variables that tell levels apart; () if the game has none.
    lives: the variable that counts lives, if there is one.
    end_on_level, end_on_life: what terminates an episode beside the game itself.
    no_progress_steps: an episode is truncated after so many steps without a gain: `progress` beyond what
        it had been in this level or, in a game without that variable, a reward above 0.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        variables: Mapping[str, Mapping[str, float]],
        level: Sequence[str] = (),
        lives: str | None = None,
        end_on_level: bool = False,
        end_on_life: bool = False,
        no_progress_steps: int | None = None,
    ) -> None:
        super().__init__(env)
        self._made = {name: dict(weights) for name, weights in variables.items()}
        self._level_variables = tuple(level)
        self._lives_variable = lives
        self._end_on_level, self._end_on_life = end_on_level, end_on_life
        self._patience = no_progress_steps
        # What is reported about a finished episode.
        reported = [LEVEL_COMPLETE] if level else []
        self.episode_values: tuple[str, ...] = (*reported, *((PROGRESS,) if PROGRESS in variables else ()))
        self._level: list[float] = []
        self._lives = 0.0
        self._levels_done = 0
        self._best = 0.0  # of `progress`, in this level
        self._farthest = 0.0  # and in the whole episode
        self._idle = 0  # steps since something was gained

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        info = self._with_made(info)
        self._level = [info[name] for name in self._level_variables]
        self._lives = self._lives_of(info)
        self._levels_done = self._idle = 0
        self._best = self._farthest = float(info.get(PROGRESS, 0.0))
        return obs, {**info, LEVELS_DONE: 0}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        info = self._with_made(info)
        lives = self._lives_of(info)
        life_lost, self._lives = lives < self._lives, lives
        level = [info[name] for name in self._level_variables]
        new_level, self._level = level != self._level, level
        # Where a life goes with it, the player was sent back and did not get through.
        finished = new_level and not life_lost
        self._levels_done += finished
        gained = self._gains(info, new_level) if PROGRESS in self._made else float(reward) > 0
        self._idle = 0 if gained or finished else self._idle + 1
        terminated = terminated or (self._end_on_level and finished) or (self._end_on_life and life_lost)
        if self._patience is not None and self._idle >= self._patience and not terminated:
            truncated = True
        info[LEVELS_DONE] = self._levels_done
        if terminated or truncated:
            info[LEVEL_COMPLETE] = float(self._levels_done > 0)
            if PROGRESS in self._made:
                info[PROGRESS] = self._farthest
        return obs, reward, terminated, truncated, info

    def _with_made(self, info: dict[str, Any]) -> dict[str, Any]:
        made = {
            name: sum(factor * info[variable] for variable, factor in weights.items())
            for name, weights in self._made.items()
        }
        return {**info, **made}

    def _lives_of(self, info: dict[str, Any]) -> float:
        return 0.0 if self._lives_variable is None else float(info[self._lives_variable])

    def _gains(self, info: dict[str, Any], new_level: bool) -> bool:
        """Whether `progress` is beyond what it was; a new level starts it again."""
        now = float(info[PROGRESS])
        gained = now > self._best
        self._best = now if new_level or gained else self._best
        self._farthest = max(self._farthest, now)
        return gained

    def get_state(self) -> dict[str, Any]:
        return {
            "level": list(self._level),
            "lives": self._lives,
            "levels_done": self._levels_done,
            "best": self._best,
            "farthest": self._farthest,
            "idle": self._idle,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        self._level, self._lives = list(state["level"]), state["lives"]
        self._levels_done, self._idle = state["levels_done"], state["idle"]
        self._best, self._farthest = state["best"], state["farthest"]
