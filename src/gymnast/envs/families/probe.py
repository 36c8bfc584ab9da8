"""Probe environments: five problems so small that a learner which fails one is broken, and it is known where.

The ladder is Andy Jones' (Debugging RL, 2021). Each adds one thing to the one before: a value, a value that
depends on the observation, a discount, a choice, a choice that depends on the observation. A probe may take
any observation and action space, so that a network is tried with the inputs and outputs that it is built for.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np

Kind = Literal["constant", "observation", "discount", "action", "match"]
KINDS: tuple[Kind, ...] = get_args(Kind)
IDS: dict[Kind, str] = {kind: f"gymnast/Probe-{kind.capitalize()}-v0" for kind in KINDS}
_FARTHEST = 10.0  # bounds beyond this are no scale to go by: real observations rarely come near them


class ProbeEnv(gym.Env[Any, Any]):
    """A problem of one or two steps. An observation shows one of two signals, +1 or -1, in every component.

    kind: `constant` pays 1; `observation` pays the signal; `discount` pays 1 at the end of two steps, which
        show -1 and +1; `action` pays 1 for an action of the first half of the space and -1 for others;
        `match` pays 1 for an action of the half that the signal names.
    continuous: one real number as the action, instead of one of two.
    observation_space, action_space: those of another env, to stand in for it.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        kind: Kind = "constant",
        continuous: bool = False,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; there are {', '.join(KINDS)}")
        self.kind = kind
        self.render_mode = render_mode
        self.observation_space = observation_space or gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        own = gym.spaces.Box(-1.0, 1.0, (1,), np.float32) if continuous else gym.spaces.Discrete(2)
        self.action_space = action_space or own
        self.max_episode_steps = 2 if kind == "discount" else 1
        self._shown = {signal: shown_as(self.observation_space, signal) for signal in (1, -1)}
        self._signal = 1
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        if self.kind in ("observation", "match"):
            self._signal = 1 if self.np_random.random() < 0.5 else -1
        else:
            self._signal = -1 if self.kind == "discount" else 1
        return deepcopy(self._shown[self._signal]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        reward = self._reward(action)
        if self.kind == "discount":
            self._signal = 1
        return deepcopy(self._shown[self._signal]), reward, self._steps >= self.max_episode_steps, False, {}

    def _reward(self, action: Any) -> float:
        if self.kind == "constant":
            return 1.0
        if self.kind == "observation":
            return float(self._signal)
        if self.kind == "discount":
            return float(self._steps == 2)
        wanted = self._signal if self.kind == "match" else 1
        return 1.0 if half_of(self.action_space, action) == wanted else -1.0


def shown_as(space: gym.Space[Any], signal: int) -> Any:
    """An element of a space for one of two signals, different in every component that can differ.

    In a Box the two mirror each other about its middle; of pictures see `_picture`.
    """
    if isinstance(space, gym.spaces.Dict):
        return {key: shown_as(part, signal) for key, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(shown_as(part, signal) for part in space.spaces)
    if isinstance(space, gym.spaces.Discrete):
        return space.start if signal < 0 else space.start + space.n - 1
    if isinstance(space, gym.spaces.MultiDiscrete):
        return (space.start + (0 if signal < 0 else 1) * (space.nvec - 1)).astype(space.dtype)
    if isinstance(space, gym.spaces.MultiBinary):
        return np.full(space.shape, int(signal > 0), space.dtype)
    if not isinstance(space, gym.spaces.Box):  # a text, say: the same for both
        space.seed(0)
        return space.sample()
    low, high = _usable_range(space)
    if len(space.shape) > 1 and max(space.shape) > 1 and (low >= 0).all():
        value = low + _picture(space.shape, signal) * (high - low)
    else:
        value = (low + high) / 2 + signal * _strength(space.shape) * (high - low) / 2
    return (np.rint(value) if space.dtype.kind in "iu" else value).astype(space.dtype)


def _strength(shape: tuple[int, ...]) -> np.ndarray:
    """How far from the middle each component lies: neither the mean of all components nor a normalisation
    by them makes the two signals the same."""
    strength = np.full(shape, 0.8)
    if shape and max(shape) > 1:
        longest = int(np.argmax(shape))
        np.moveaxis(strength, longest, 0)[shape[longest] // 2 :] = 0.3
    return strength


def _picture(shape: tuple[int, ...], signal: int) -> np.ndarray:
    """Dark, as most of a game's screen is, with a bright bar: a broad one on one side, or a narrow one on the
    other. Were all of it bright, an encoder without normalisation would get inputs unlike any it meets."""
    picture = np.full(shape, 0.1)
    longest = int(np.argmax(shape))
    rows, n = np.moveaxis(picture, longest, 0), shape[longest]
    if signal > 0:
        rows[: max(1, n // 4)] = 0.9
    else:
        rows[n - max(1, n // 10) :] = 0.9
    return picture


def _usable_range(space: gym.spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """The bounds where they are of a sensible size, -1 and 1 where there are none."""
    given_low, given_high = space.low.astype(np.float64), space.high.astype(np.float64)
    if space.dtype.kind in "iu" and np.isfinite(given_low).all() and np.isfinite(given_high).all():
        return given_low, given_high
    low = np.where(given_low > -_FARTHEST, given_low, -1.0)
    high = np.where(given_high < _FARTHEST, given_high, 1.0)
    above, below = given_low >= high, given_high <= low  # all of the range lies far from 0
    far_low = np.where(np.isfinite(given_low), given_low, given_high - 1.0)
    far_high = np.where(np.isfinite(given_high), given_high, given_low + 1.0)
    far = above | below
    return np.where(far, far_low, low), np.where(far, far_high, high)


def half_of(space: gym.Space[Any], action: Any) -> int:
    """Which half of the space the first factor of an action lies in: +1 for the first, -1 for the second
    (of a Box: the upper half is the first)."""
    if isinstance(space, gym.spaces.Dict):
        key = next(iter(space.spaces))
        return half_of(space.spaces[key], action[key])
    if isinstance(space, gym.spaces.Tuple):
        return half_of(space.spaces[0], action[0])
    if isinstance(space, gym.spaces.Discrete):
        return 1 if 2 * (int(action) - int(space.start)) < int(space.n) else -1
    first = np.ravel(np.asarray(action))[0]
    if isinstance(space, gym.spaces.MultiDiscrete):
        return 1 if 2 * (int(first) - int(np.ravel(space.start)[0])) < int(np.ravel(space.nvec)[0]) else -1
    if isinstance(space, gym.spaces.MultiBinary):
        return 1 if first == 0 else -1
    low, high = float(np.ravel(space.low)[0]), float(np.ravel(space.high)[0])  # type: ignore[attr-defined]
    middle = low / 2 + high / 2 if np.isfinite(low) and np.isfinite(high) else 0.0
    return 1 if first > middle else -1


def has_signals(space: gym.Space[Any]) -> bool:
    """Whether an observation of this space can show two signals."""
    return bool(_flat(space, 1) != _flat(space, -1))


def has_choice(space: gym.Space[Any]) -> bool:
    """Whether the first factor of an action has two halves."""
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        parts = space.spaces.values() if isinstance(space, gym.spaces.Dict) else space.spaces
        return has_choice(next(iter(parts)))
    if isinstance(space, gym.spaces.Discrete):
        return bool(space.n > 1)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return bool(np.ravel(space.nvec)[0] > 1)
    if isinstance(space, gym.spaces.Box):
        return bool(np.ravel(space.low)[0] < np.ravel(space.high)[0])
    return True


def _flat(space: gym.Space[Any], signal: int) -> list[bytes]:
    value = shown_as(space, signal)
    if isinstance(space, gym.spaces.Dict):
        return [piece for part in space.spaces.values() for piece in _flat(part, signal)]
    if isinstance(space, gym.spaces.Tuple):
        return [piece for part in space.spaces for piece in _flat(part, signal)]
    return [np.asarray(value).tobytes()]


for _kind, _id in IDS.items():
    if _id not in gym.registry:
        gym.register(_id, entry_point="gymnast.envs.families.probe:ProbeEnv", kwargs={"kind": _kind})
