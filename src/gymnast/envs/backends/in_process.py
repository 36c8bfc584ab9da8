"""The `sync` backend: a plain loop over single envs in this process, writing into arrays made once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from gymnast.envs import states as carrying
from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.returned import FLAGS, NUMBERS, Returned
from gymnast.envs.contract import EnvFailure, Step, StepsWhenReceived, close_all, pass_on_ctrl_c
from gymnast.envs.single import reports_life_lost
from gymnast.envs.states import EnvState
from gymnast.errors import GymnastError, described
from gymnast.spaces.action_form import ActionForm, is_plain
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.observation_form import ObservationForm
from gymnast.spaces.plain import first_value, plain_action_space, plain_space

_CHECKED_STEPS = 32  # of each env; later only what costs next to nothing is checked


class InProcessEnvs(StepsWhenReceived):
    """Single envs stepped one after the other; `workers` runs the same class in each process."""

    backend = "sync"

    def __init__(
        self,
        envs: Sequence[gym.Env[Any, Any]],
        seeds: Sequence[int],
        reward_parts: tuple[str, ...] = (),
        frames: tuple[Frame, Frame] | None = None,
        masked: bool = False,
        episode_values: tuple[str, ...] = (),
    ) -> None:
        self.n_envs = len(envs)
        self.seeds = list(seeds)
        self.reward_parts = reward_parts
        self.episode_values = episode_values
        self.observation_space = plain_space(envs[0].observation_space)
        self.action_space = plain_action_space(envs[0].action_space)
        self.carries_state = all(carrying.can_carry(env) for env in envs)
        self.can_capture = self.carries_state
        self._envs = list(envs)
        self._lives = reports_life_lost(envs[0])
        self._episodes = [0] * self.n_envs  # started so far, each
        self._first_obs = first_value(envs[0].observation_space)
        self._first_action = first_value(envs[0].action_space)
        self._discrete_actions = isinstance(self.action_space, gym.spaces.Discrete)
        self._form = None if is_plain(self.action_space) else ActionForm(self.action_space)
        if self._form is not None:
            self._action_dtype: Any = self._form.env_dtype
        else:
            self._action_dtype = np.int64 if self._discrete_actions else envs[0].action_space.dtype
        self._reader = MaskReader(self.action_space) if masked else None
        self._seen = ObservationForm(envs[0].observation_space)
        self._returned = Returned(self._seen)
        self._obs_types = self._returned.obs_types
        # An env's first steps are checked in full; then the call is replaced by the env's own.
        self._step_calls = [self._checking(index) for index in range(self.n_envs)]
        self._float_fields = _float_fields(self._seen)
        mask_size = self._reader.size if self._reader else 0
        arrays: dict[str, Any] = {"mask_size": mask_size, "values": episode_values}
        self._frames = frames or (
            Frame(self.n_envs, self.observation_space, reward_parts, **arrays),
            Frame(self.n_envs, self.observation_space, reward_parts, **arrays),
        )
        # Where each frame's observations are written, row by row.
        self._writers = [
            (self._seen.rows(frame.step.obs), self._seen.rows(frame.final_obs)) for frame in self._frames
        ]
        self._turn = 0

    @property
    def masks(self) -> np.ndarray | None:
        return self._frames[self._turn].masks

    def reset(self) -> np.ndarray:
        return self.reset_into(self._next_frame())

    def step(self, actions: np.ndarray) -> Step:
        return self.step_into(actions, self._next_frame())

    def _next_frame(self) -> int:
        self._turn = 1 - self._turn
        return self._turn

    def reset_into(self, turn: int) -> np.ndarray:
        frame, (writer, _) = self._frames[turn], self._writers[turn]
        for index in range(self.n_envs):
            self._start_episode(index, writer, frame.masks, seed=self.seeds[index])
            self._episodes[index] = 1
        if self._first_obs:
            frame.step.obs -= self._first_obs
        self._check_finite(frame.step.obs, None)
        self._check_masks(frame.masks)
        return frame.step.obs

    def step_into(self, actions: np.ndarray, turn: int) -> Step:
        """One step of every env, written into frame `turn`."""
        frame = self._frames[turn]
        step, final_obs = frame.step, frame.final_obs
        next_rows, final_rows = self._writers[turn]
        obs, rewards, terminated, truncated = step.obs, step.rewards, step.terminated, step.truncated
        # A copy, since an env may keep the action that it was given.
        actions = np.array(actions, dtype=self._action_dtype)
        if self._first_action:
            actions += self._first_action
        terminated.fill(False)
        truncated.fill(False)
        any_done, first_obs, index, masks = False, self._first_obs, 0, frame.masks
        lives, obs_types = self._lives, self._obs_types
        mask_shape = None if masks is None else masks.shape[1:]
        try:
            # Plain ints: an env's `action_space.contains` is faster on them.
            if self._form is not None:
                each_action: Any = self._form.each(actions)
            else:
                each_action = actions.tolist() if self._discrete_actions else actions
            for index, action in enumerate(each_action):
                ob, reward, is_terminated, is_truncated, info = self._step_calls[index](action)
                if type(reward) not in NUMBERS or type(ob) not in obs_types:
                    self._reject(index, self._returned.wrong_values(ob, reward))
                rewards[index] = reward
                if self.reward_parts:
                    self._write_parts(index, step.reward_parts, info)
                if is_terminated or is_truncated:
                    if type(is_terminated) not in FLAGS or type(is_truncated) not in FLAGS:
                        self._reject(index, self._returned.wrong_flags(is_terminated, is_truncated))
                    # A life lost in the step that a time limit ends the game at is an end for learning too.
                    terminated[index] = is_terminated or (lives and info.get("life_lost", False))
                    truncated[index] = is_truncated
                    frame.life_lost[index] = False
                    frame.lost[index] = info.get("env_lost", False)
                    any_done = True
                    final_rows[index] = ob - first_obs if first_obs else ob
                    for name, values in step.episode_values.items():
                        values[index] = info.get(name, math.nan)
                    self._start_episode(index, next_rows, masks)
                else:
                    next_rows[index] = ob
                    if lives and info.get("life_lost", False):
                        any_done = terminated[index] = frame.life_lost[index] = True
                        frame.lost[index] = False
                        final_rows[index] = ob - first_obs if first_obs else ob
                        for values in step.episode_values.values():
                            values[index] = math.nan
                    if masks is not None:
                        mask = info.get("action_mask")
                        if type(mask) is np.ndarray and mask.shape == mask_shape:
                            masks[index] = mask  # the common case, without a call
                        else:
                            self._read_mask(index, masks, info)
        except EnvFailure:
            raise
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise EnvFailure(index, self.seeds[index], _raised(error, "step")) from error
        if first_obs:
            obs -= first_obs
        self._check_finite(obs, rewards)
        if any_done:
            self._check_finite(final_obs, None)
        self._check_masks(masks)
        return frame.finish(any_done)

    def _checking(self, index: int) -> Any:
        """The step of an env whose first results are checked in full."""
        own, left = self._envs[index].step, _CHECKED_STEPS

        def step(action: Any) -> Any:
            nonlocal left
            result = own(action)
            self._reject(index, self._returned.wrong_step(result))
            left -= 1
            if not left:
                self._step_calls[index] = own
            return result

        return step

    def _reject(self, index: int, reason: str | None) -> None:
        if reason is not None:
            raise EnvFailure(index, self.seeds[index], reason)

    def _start_episode(
        self, index: int, rows: Any, masks: np.ndarray | None, seed: int | None = None
    ) -> None:
        try:
            ob, info = self._envs[index].reset(seed=seed)
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise EnvFailure(index, self.seeds[index], _raised(error, "reset")) from error
        if not isinstance(info, dict):
            raise EnvFailure(index, self.seeds[index], f"gave no info on reset; {_RETURNS['reset']}")
        # Here, since assigning would broadcast a wrong shape in silence.
        self._reject(index, self._seen.misfit(ob))
        rows[index] = ob
        if masks is not None:
            self._read_mask(index, masks, info)
        self._episodes[index] += 1

    def _read_mask(self, index: int, masks: np.ndarray, info: dict[str, Any]) -> None:
        assert self._reader is not None
        try:
            self._reader.read(info["action_mask"], masks[index])
        except KeyError:
            reason = "gave no info['action_mask'], which env.action_masks wants after every reset and step"
        except ValueError as error:
            reason = f"gave an info['action_mask'] that {error}"
        else:
            return
        raise EnvFailure(index, self.seeds[index], reason)

    def _check_masks(self, masks: np.ndarray | None) -> None:
        if masks is None or self._reader is None:
            return
        if (index := self._reader.row_without_choice(masks)) is not None:
            raise EnvFailure(
                index, self.seeds[index], "gave an info['action_mask'] that forbids every action"
            )

    def _write_parts(self, index: int, arrays: dict[str, np.ndarray], info: dict[str, Any]) -> None:
        parts = info.get("reward_parts", {})
        for name, array in arrays.items():
            array[index] = parts.get(name, 0.0)

    @np.errstate(over="ignore", invalid="ignore")
    def _check_finite(self, obs: np.ndarray, rewards: np.ndarray | None) -> None:
        """Stop at NaN or infinity. A dot product is the cheapest sum; only if it is off, look closer."""
        for field in self._float_fields:
            numbers = obs if field is None else obs[field]
            flat = numbers.reshape(-1)
            if not math.isfinite(flat.dot(flat)):
                what = "an observation" if field is None else f"an observation '{field}'"
                self._raise_where(~np.isfinite(numbers).reshape(self.n_envs, -1).all(axis=1), what)
        if rewards is not None and not math.isfinite(rewards.dot(rewards)):
            self._raise_where(~np.isfinite(rewards), "a reward")

    def _raise_where(self, bad: np.ndarray, what: str) -> None:
        if bad.any():  # otherwise the sum overflowed, and each value is fine
            index = int(bad.argmax())
            raise EnvFailure(index, self.seeds[index], f"returned {what} that is not finite")

    def snapshot(self) -> dict[str, Any]:
        return {
            "kind": "single",
            "envs": [
                {"seed": seed, "episodes": episodes, **carrying.env_state(env)}
                for env, seed, episodes in zip(self._envs, self.seeds, self._episodes, strict=True)
            ],
        }

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        saved, started = carrying.saved_envs(snapshot), carrying.episodes_in(snapshot)
        exact = len(saved) == self.n_envs and all(carrying.matches(self._envs[0], state) for state in saved)
        obs = self.restore_into(saved, exact, self._next_frame(), started)
        return None if exact else obs

    def restore_into(self, saved: list[dict[str, Any]], exact: bool, turn: int, started: int) -> np.ndarray:
        """Continue from the states in `saved`; new episodes, unless `exact`, begin in frame `turn`.

        started: episodes of all envs before now, for the seeds of envs that have no state.
        """
        obs, masks = self._frames[turn].step.obs, self._frames[turn].masks
        writer = self._writers[turn][0]
        for index in range(self.n_envs):
            state = saved[index] if index < len(saved) else {"episodes": started}
            self._restore_one(index, state, exact, writer, masks)
        if self._first_obs:
            obs -= self._first_obs
        return obs

    def _restore_one(
        self,
        index: int,
        state: dict[str, Any],
        exact: bool,
        rows: Any,
        masks: np.ndarray | None,
    ) -> None:
        env, episodes = self._envs[index], int(state["episodes"])
        # An env may draw from more than np_random: a seed of its own for this episode reaches all of it.
        self._start_episode(index, rows, masks, seed=episode_seed(self.seeds[index], episodes))
        if exact:
            carrying.set_env_state(env, state)
        else:
            if "random" in state:  # an env that is new, or that another backend stepped, has none
                carrying.set_random_state(env.unwrapped.np_random, state["random"])
                self._start_episode(index, rows, masks)
            episodes += 1
        self._episodes[index] = episodes

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        rows = carrying.checked_rows(rows, self.n_envs)
        if not self.can_capture:
            raise GymnastError(f"this env cannot be captured: {carrying.why_not_carried(self._envs[0])}")
        return self.capture_from(rows, self._turn)

    def capture_from(self, rows: Sequence[int], turn: int) -> list[EnvState]:
        """The states of single envs; what is seen in them is in frame `turn`."""
        if 0 in self._episodes:
            raise GymnastError("envs cannot be captured before their first reset")
        return [self._captured(row, self._frames[turn]) for row in rows]

    def _captured(self, index: int, frame: Frame) -> EnvState:
        state = carrying.env_state(self._envs[index])
        if "layers" not in state:
            raise GymnastError("these envs cannot be captured: a layer does not give plain data (see above)")
        state["obs"] = frame.step.obs[index].tobytes()
        state["mask"] = None if frame.masks is None else frame.masks[index].tobytes()
        return EnvState.pack(carrying.env_kind(self._envs[index]), state)

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        rows = carrying.checked_rows(rows, self.n_envs)
        if not self.can_capture:
            raise GymnastError(f"this env has no states: {carrying.why_not_carried(self._envs[0])}")
        carrying.check_kinds(states, rows, carrying.env_kind(self._envs[0]))
        self.begin_from_into(rows, states, self._turn)
        return self._frames[self._turn].step.obs[rows]

    def begin_from_into(self, rows: Sequence[int], states: Sequence[EnvState], turn: int) -> None:
        """Put single envs into the given states; what is seen there goes into frame `turn`."""
        frame = self._frames[turn]
        for index, packed in zip(rows, states, strict=True):
            if not self._episodes[index]:  # a state can only be given to an env that was reset once
                self._start_episode(index, self._writers[turn][0], frame.masks, seed=self.seeds[index])
            state = packed.unpack()
            try:
                carrying.set_env_state(self._envs[index], state)
                _fill(frame.step.obs, index, state["obs"])
                if frame.masks is not None:
                    _fill(frame.masks, index, state["mask"])
            except BaseException as error:
                pass_on_ctrl_c(error)
                reason = f"could not begin from the state given: {described(error)}"
                raise EnvFailure(index, self.seeds[index], reason) from error

    def close(self) -> None:
        close_all(self._envs)


_RETURNS = {
    "reset": "reset(seed=…, options=…) must return 2 values, an observation and an info dict",
    "step": "step must return 5 values: observation, reward, terminated, truncated, info",
}


def _raised(error: BaseException, call: Literal["reset", "step"]) -> str:
    """What a call raised and where; an env written for the older Gym is recognised by what it returns."""
    on = " on reset" if call == "reset" else ""
    reason = f"raised {type(error).__name__}{on}{described(error).removeprefix(type(error).__name__)}"
    old_form = ("values to unpack", "cannot unpack", "keyword argument 'seed'", "keyword argument 'options'")
    return f"{reason}; {_RETURNS[call]}" if any(part in str(error) for part in old_form) else reason


def _fill(array: np.ndarray, index: int, raw: bytes) -> None:
    """Write one row from its bytes."""
    array[index] = np.frombuffer(raw, array.dtype).reshape(array.shape[1:])


def _float_fields(form: ObservationForm) -> list[str | None]:
    """The fields of a batch that may hold NaN; None means the whole of a plain one."""
    return [leaf.name or None for leaf in form.leaves if leaf.dtype == np.float32]


def episode_seed(seed: int, episode: int) -> int:
    """A seed for a later episode of the env that `seed` started."""
    return int(np.random.SeedSequence([seed, episode]).generate_state(1)[0] >> 1)


def restart_seed(seed: int, restarts: int) -> int:
    """A seed for the env that takes the place of a lost one; none that `episode_seed` gives."""
    return int(np.random.SeedSequence([seed, restarts, 0xDEAD]).generate_state(1)[0] >> 1)
