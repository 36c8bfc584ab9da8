"""From the `env` section to one console game, as training or evaluation plays it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from gymnast.envs.families.retro import library
from gymnast.envs.families.retro.episodes import RetroEpisodes
from gymnast.envs.families.retro.game import RetroGame
from gymnast.envs.families.retro.rewards import RetroRewards, resolve_shares
from gymnast.envs.families.retro.settings import RetroConfig
from gymnast.envs.families.retro.tables import LEVELS_DONE, TABLES, GameTable
from gymnast.envs.settings import EnvConfig
from gymnast.envs.wrappers.frames import FrameSkip, RandomFrameSkip, StickyActions
from gymnast.envs.wrappers.images import Crop, Grayscale, MaskRegion, Resize
from gymnast.errors import GymnastError, did_you_mean


def build_game(config: EnvConfig, *, training: bool, render_mode: str | None) -> gym.Env[Any, Any]:
    """The game of a config; what only training does (chance, shaped rewards, lives) is left out otherwise."""
    settings = config.retro
    folder = library.game_folder(config.id)
    name = library.short_name(folder)
    table = TABLES.get(name, GameTable())
    known = _Variables(name, settings, table, library.variables(folder))
    shares = resolve_shares(settings.rewards, table.rewards, known.all_of_them, name)
    arguments = {"state": config.state, "actions": config.actions, **config.resolved_kwargs}
    env: gym.Env[Any, Any] = RetroGame(
        name,
        obs=settings.obs,
        noop_max=settings.noop_max,
        scenario=settings.scenario,
        render_mode=render_mode,
        **arguments,
    )
    try:
        return _around(env, config, known, shares, training)
    except BaseException:
        env.close()  # otherwise the process could start no other
        raise


class _Variables:
    """What a game's variables are used for: by the config, else by its table, else by custom."""

    def __init__(self, game: str, settings: RetroConfig, table: GameTable, own: list[str]) -> None:
        self.made = {**table.variables, **settings.variables}
        self.all_of_them = [*own, *self.made, LEVELS_DONE]
        self.level = table.level if settings.level is None else settings.level
        self.lives = settings.lives or table.lives or ("lives" if "lives" in own else None)
        used = [("env.retro.level", variable) for variable in self.level]
        used += [("env.retro.lives", self.lives)] if self.lives else []
        used += [(f"env.retro.variables.{name}", v) for name, parts in self.made.items() for v in parts]
        for key, variable in used:
            if variable not in own:
                raise GymnastError(
                    f"{key}: {game} has no variable '{variable}'{did_you_mean(variable, own)};"
                    f" it has {', '.join(own) or 'none'}"
                )


def _around(
    env: gym.Env[Any, Any], config: EnvConfig, known: _Variables, shares: dict[str, Any], training: bool
) -> gym.Env[Any, Any]:
    settings = config.retro
    if training and settings.sticky:
        env = StickyActions(env, settings.sticky)
    env = FrameSkip(env, settings.frame_skip)
    env.metadata = {**env.metadata, "render_fps": round(60 / settings.frame_skip)}
    if training and settings.random_frame_skip is not None:
        env = RandomFrameSkip(env, *settings.random_frame_skip)
    env = RetroEpisodes(
        env,
        variables=known.made,
        level=known.level,
        lives=known.lives,
        end_on_level=settings.end_on_level,
        end_on_life=settings.end_on_life and training,
        no_progress_steps=settings.no_progress_steps,
    )
    if training and (shares or settings.own_reward != 1.0):
        env = RetroRewards(env, shares, settings.own_reward)
    if config.max_episode_steps is not None:
        env = gym.wrappers.TimeLimit(env, config.max_episode_steps)
    return _as_seen(env, settings) if settings.obs == "pixels" else env


def _as_seen(env: gym.Env[Any, Any], settings: RetroConfig) -> gym.Env[Any, Any]:
    """The screen as the agent sees it."""
    sides = settings.crop.model_dump()
    if any(sides.values()):
        env = Crop(env, **sides)
    for region in settings.hide:
        env = MaskRegion(env, **region.model_dump())
    if settings.grayscale:
        env = Grayscale(env)
    return env if settings.size is None else Resize(env, *settings.size)
