"""The check of a user's env: what it returns, whether it repeats, starts again, ends, and how fast it is.

Whatever the env raises becomes a finding with the file and line it was raised at.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check

from gymnast.doctor.finding import Finding
from gymnast.doctor.play_env import Env, Played, Player, digest
from gymnast.doctor.repeats import difference_of, seeded_globals
from gymnast.doctor.reward_finding import reward_finding
from gymnast.envs.contract import close_env, pass_on_ctrl_c
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError, described
from gymnast.spaces.plain import check_spaces

STEPS, SECONDS = 1000, 3.0  # of the play that most findings come from
_AGAIN = 200  # steps of those that are compared with it
_ACTIONS, _ACTION_STEPS = 18, 30
_SEED, _OTHER_SEED = 1, 2
_MANY = 100  # steps in which some episode should have ended
_SLOW = 300.0  # steps per second
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# What Gymnasium warns of and what does no harm here: actions are scaled, and networks take any shape.
_HARMLESS = ("symmetric and normalized", "unconventional shape", "render", "infinity")


def check_env(config: EnvConfig, *, render: bool = True, normalized: bool = False) -> Iterator[Finding]:
    """Everything that is looked at, one after the other. Never raises for what the env does.

    `normalized`: learning divides rewards by their scale, whatever that is.
    """
    yield from _Check(config).all(render=render, normalized=normalized)


class _Check:
    def __init__(self, config: EnvConfig) -> None:
        self.config = config
        self.player = Player(lambda: make_env(config), masked=config.action_masks)

    def all(self, *, render: bool, normalized: bool) -> Iterator[Finding]:
        built = list(_guarded("build", self._build))
        yield from built
        if any(finding.status == "failed" for finding in built):
            return
        yield from _guarded("Gymnasium", self._gymnasium)
        played = self.player.play(_SEED, steps=STEPS, seconds=SECONDS)
        yield from self._returned(played)
        if played.error is not None:
            yield Finding("stepping", "failed", played.error, "the env must reset and step without errors")
        if played.steps == 0:
            return
        yield from _guarded("determinism", lambda: self._determinism(played))
        yield from _guarded("seeds", lambda: self._seeds(played))
        yield from _guarded("resets", lambda: self._resets(played))
        yield from _guarded("episodes", lambda: self._episodes(played))
        yield reward_finding(played.rewards, normalized=normalized)
        yield from _guarded("actions", self._actions)
        yield self._speed(played)
        if render:
            yield from _guarded("rendering", self._rendering)

    def _build(self) -> Iterator[Finding]:
        env = make_env(self.config)
        try:
            observation, action = env.observation_space, env.action_space
            check_spaces(observation, action, self.config.id)
            yield Finding("build", "ok", f"observes {_space(observation)}, acts in {_space(action)}")
        finally:
            problem = close_env(env)
        if problem is not None:
            yield Finding("close", "warning", problem)

    def _gymnasium(self) -> Iterator[Finding]:
        """Gymnasium's own check, of the env without wrappers."""
        env = make_env(self.config.model_copy(update={"wrappers": (), "action_masks": False}))
        found: list[Finding] = []
        error: BaseException | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                gymnasium_check(env.unwrapped, skip_render_check=True, skip_close_check=True)
            except BaseException as raised:
                pass_on_ctrl_c(raised)
                error = raised
            finally:
                close_env(env)
        for text in dict.fromkeys(_plain(str(warning.message)) for warning in caught):
            harmless = any(words in text for words in _HARMLESS)
            found.append(Finding("Gymnasium", "info" if harmless else "warning", text))
        if error is not None:
            what = _plain(str(error)) if isinstance(error, AssertionError) else described(error)
            found.append(Finding("Gymnasium", "failed", what, "see gymnasium.utils.env_checker.check_env"))
        yield from found or [Finding("Gymnasium", "ok", "check_env finds nothing")]

    def _returned(self, played: Played) -> Iterator[Finding]:
        for kind, text in played.problems.items():
            if kind == "slightly":
                yield Finding("bounds", "warning", text, _ADVICE["bounds"])
            else:
                yield Finding(kind, "failed", text, _ADVICE.get(kind, ""))
        if not played.problems and played.steps:
            yield Finding("bounds", "ok", f"{played.steps:,} steps within the declared spaces")

    def _determinism(self, played: Played) -> Iterator[Finding]:
        steps = min(played.steps, _AGAIN)
        again = self.player.play(_SEED, steps=steps, seconds=2 * SECONDS)
        difference = difference_of(played, again)
        if difference is None:
            yield Finding("determinism", "ok", f"{min(steps, again.steps)} steps repeat with the same seed")
            return
        with seeded_globals():
            one = self.player.play(_SEED, steps=steps, seconds=SECONDS)
        with seeded_globals():
            two = self.player.play(_SEED, steps=steps, seconds=SECONDS)
        if difference_of(one, two) is None:
            why = "it draws from np.random or random; use self.np_random, which reset(seed=…) seeds"
        else:
            why = "find what depends on time, on the process, or on earlier episodes"
        yield Finding("determinism", "failed", f"the same seed and actions give another {difference}", why)

    def _seeds(self, played: Played) -> Iterator[Finding]:
        steps = min(played.steps, _AGAIN)
        other = self.player.play(_OTHER_SEED, steps=steps, seconds=2 * SECONDS)
        if difference_of(played, other) is not None:
            yield Finding("seeds", "ok", "another seed gives another episode")
            return
        yield Finding(
            "seeds",
            "warning",
            f"seeds {_SEED} and {_OTHER_SEED} give the same {min(steps, other.steps)} steps",
            "parallel copies see the same; unless the env is meant to be so, call super().reset(seed=seed) "
            "and draw from self.np_random",
        )

    def _resets(self, played: Played) -> Iterator[Finding]:
        """A seed at reset means the same, whatever was played before."""
        env = make_env(self.config)
        try:
            env.action_space.seed(0)
            first = digest(env.reset(seed=_SEED)[0])
            for _ in range(3):
                if any(env.step(env.action_space.sample())[2:4]):
                    break
            again = [digest(env.reset(seed=_SEED)[0])]  # in the middle of an episode
            env.reset()
            again.append(digest(env.reset(seed=_SEED)[0]))
        finally:
            close_env(env)
        if {played.digests[0], first, *again} != {first}:
            yield Finding(
                "resets",
                "failed",
                f"reset(seed={_SEED}) shows another observation after some steps than at first",
                "reset(seed=…) must set everything back; super().reset(seed=seed) seeds self.np_random",
            )
            return
        count = len(played.lengths)
        ended = f"; {count} episodes ended and started again" if count else ""
        yield Finding("resets", "ok", f"reset(seed={_SEED}) repeats{ended}")

    def _episodes(self, played: Played) -> Iterator[Finding]:
        limit = read_spec(self.config).max_episode_steps
        if played.lengths:
            lengths = played.lengths
            ends = f"{played.terminated} terminated, {played.truncated} truncated"
            shortest, longest = min(lengths), max(lengths)
            if longest == 1:
                yield Finding("episodes", "info", f"all {len(lengths)} episodes have one step ({ends})")
                return
            yield Finding("episodes", "ok", f"{len(lengths)} with {shortest} to {longest} steps ({ends})")
            return
        if limit is not None:
            yield Finding("episodes", "ok", f"none ended in {played.steps:,} steps; the limit is {limit:,}")
            return
        yield Finding(
            "episodes",
            "warning" if played.steps >= _MANY else "info",
            f"none ended in {played.steps:,} random steps, and there is no time limit",
            "set env.max_episode_steps=1000, or episodes may never end",
        )

    def _actions(self) -> Iterator[Finding]:
        """Whether it matters what one does: each of some actions, over and over from one start."""
        env = make_env(self.config)
        try:
            space = env.action_space
            tried = _some_actions(space)
        finally:
            close_env(env)
        if self.config.action_masks or len(tried) < 2:
            return
        seen = set()
        for action in tried:
            always = partial(_always, action)
            played = self.player.play(_SEED, steps=_ACTION_STEPS, seconds=SECONDS / len(tried), act=always)
            if played.error is not None:
                text = f"action {action}: {played.error}"
                yield Finding("actions", "failed", text, "every action of the space must be possible")
                return
            seen.add(digest([played.digests, played.rewards]))
        if len(seen) == 1:
            yield Finding(
                "actions",
                "warning",
                f"{len(tried)} different actions, each done {_ACTION_STEPS} times, change nothing",
                "check that step() uses its action",
            )
        else:
            yield Finding("actions", "ok", f"{len(seen)} of {len(tried)} constant actions differ in effect")

    def _speed(self, played: Played) -> Finding:
        rate = played.steps / max(played.step_seconds, 1e-9)
        reset = 1000 * float(np.mean(played.reset_seconds))
        text = f"{_rounded(rate)} steps per second, reset {reset:.2g} ms"
        if rate < _SLOW:
            return Finding(
                "speed", "info", text, "gymnast tune-envs measures how many copies and workers pay"
            )
        return Finding("speed", "ok", text)

    def _rendering(self) -> Iterator[Finding]:
        env = make_env(self.config)
        modes = (env.metadata or {}).get("render_modes") or []
        close_env(env)
        if "rgb_array" not in modes:
            yield Finding("rendering", "info", "no rgb_array among its render_modes: no videos")
            return
        env = make_env(self.config, render_mode="rgb_array")
        try:
            env.reset(seed=_SEED)
            picture: Any = env.render()
        finally:
            close_env(env)
        shape = np.shape(picture)
        if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or len(shape) != 3:
            got = f"{picture.dtype} {shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
            text = f"render() gives {got}, not a uint8 array of height × width × 3"
            yield Finding("rendering", "warning", text)
        else:
            yield Finding("rendering", "ok", f"pictures of {shape[1]} × {shape[0]}")


_ADVICE = {
    "bounds": "widen the observation space, or clip what is returned",
    "dtype": "return what the space declares, e.g. .astype(np.float32)",
    "structure": "return what the space declares",
    "NaN": "find the division or overflow that makes it",
    "reward": "return a float",
    "flags": "return bool(…)",
    "info": "return a dict, an empty one if there is nothing to tell",
}


def _guarded(check: str, run: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What the check finds; an error in it is one more finding."""
    try:
        yield from run()
    except GymnastError as error:
        yield Finding(check, "failed", str(error))
    except BaseException as error:
        pass_on_ctrl_c(error)
        yield Finding(check, "failed", described(error))


def _always(action: Any, env: Env, info: dict[str, Any]) -> Any:
    return action


def _some_actions(space: gym.Space[Any]) -> list[Any]:
    if isinstance(space, gym.spaces.Discrete):
        first, n = int(space.start), int(space.n)
        return [first + i for i in range(min(n, _ACTIONS))]
    if isinstance(space, gym.spaces.Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all():
        return [space.low.copy(), space.high.copy()]
    space.seed(0)
    return [space.sample() for _ in range(4)]


def _space(space: gym.Space[Any]) -> str:
    text = str(space).replace("\n", " ")
    return text if len(text) <= 100 else f"{type(space).__name__}{space.shape or ''}"


def _plain(text: str) -> str:
    return " ".join(_COLOURS.sub("", text).replace("WARN: ", "").split())


def _rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate < 1000 else f"{round(rate, -2):,.0f}"
