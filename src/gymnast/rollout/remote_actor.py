"""What runs in an actor: a share of the envs and a copy of the policy, which collect rollouts on request.

The copy acts as the learner's own policy would: on the rows of randomness that belong to its envs, drawn by
the learner. The bits of a matrix product depend on how many rows it has and where each is. So an actor that
is to give the same bits acts on a batch of all rows, with its own in their places, zeros in the others.

Log-probabilities and values are left to the learner, which computes them in one pass over the whole rollout;
only image encoders give them while acting.
"""

from __future__ import annotations

import json
import os
import socket
import time
import traceback
from typing import Any

import numpy as np

from gymnast.envs.backends.worker_process import register
from gymnast.envs.build import build_envs
from gymnast.envs.contract import EnvFailure, Envs, Step
from gymnast.envs.settings import EnvConfig
from gymnast.envs.states import decode, encode
from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Network, Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.collector import Collector, Ending
from gymnast.rollout.remote_fleet import Answer, Arrays
from gymnast.rollout.remote_weights import load_weights
from gymnast.rollout.source import Episode


class PlacedPolicy(Policy):
    """Acts for some rows of a batch as if it acted for all of them."""

    def __init__(self, network: Network, rows: slice, n: int) -> None:
        super().__init__(network)
        self._rows, self._n = rows, n

    def act(
        self, obs: np.ndarray, noise: np.ndarray, masks: np.ndarray | None = None, state: Any = None
    ) -> np.ndarray:
        return super().act(*self._placed(obs, noise, masks), state)[self._rows]

    def act_and_evaluate(
        self, obs: Any, noise: np.ndarray, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        actions, log_probs, values = super().act_and_evaluate(*self._placed(obs, noise, masks))
        return actions[self._rows], log_probs[self._rows], values[..., self._rows]

    def _placed(
        self, obs: np.ndarray, noise: np.ndarray, masks: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        all_obs = np.zeros((self._n, *obs.shape[1:]), obs.dtype)
        all_noise = np.zeros((noise.shape[0], self._n), noise.dtype)
        all_obs[self._rows], all_noise[:, self._rows] = obs, noise
        if masks is None:
            return all_obs, all_noise, None
        all_masks = np.ones((self._n, masks.shape[1]), bool)
        all_masks[self._rows] = masks
        return all_obs, all_noise, all_masks


class ActingCollector(Collector):
    """A collector that leaves it to another process to evaluate what it collected."""

    truncated: list[Ending]
    places: list[tuple[int, int]]  # step and row at which each episode ended

    def _evaluate(self, policy: Policy, truncated: list[Ending]) -> None:
        self.truncated = truncated

    def _begin(self) -> None:
        super()._begin()
        self.places = []

    def _finish(self, over: np.ndarray, step: Step, start: int, now: int) -> list[Episode]:
        lost = step.lost
        t = now - self._clock - 1
        self.places += [(t, start + i) for i in over.tolist() if lost is None or not lost[i]]
        return super()._finish(over, step, start, now)

    @property
    def frame_ages(self) -> np.ndarray:
        """How many steps each env was into what its history of frames holds, at the rollout's beginning."""
        return np.zeros(0, np.int64) if self._frames is None else self._frames.ages


class Share:
    """Some rows of the envs of a run: built from a message, asked by messages."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.start, stop = order["rows"]
        register(order["registered"])
        config = EnvConfig.model_validate(order["env"])
        self.envs: Envs = build_envs(
            config, n_envs=stop - self.start, seed=0, seeds=order["seeds"], backend=order["backend"]
        )
        try:
            self._build(order, stop)
        except BaseException:
            self.envs.close()
            raise

    def _build(self, order: dict[str, Any], stop: int) -> None:
        policy = build_policy(
            PolicyConfig.model_validate(order["policy"]),
            order["engine"],
            self.envs.observation_space,
            self.envs.action_space,
            None,
            "cpu",
            order["precision"],
            tuple(order["value_heads"]),
        )
        if order["same_bits"]:
            policy = PlacedPolicy(policy.network, slice(self.start, stop), order["n_envs"])
        self.policy = policy
        self.collector = ActingCollector(
            self.envs, policy, order["n_steps"], keep_final_obs=order["keep_final_obs"]
        )
        self._evaluates = policy.layout.encoder is not None
        self._keep_states: int = order["lag"]  # of the last rollouts, at their beginnings
        self._before: dict[int, dict[str, Any] | None] = {}

    def shown(self) -> Arrays:
        """What the envs show now."""
        obs, masks = self.collector.next_inputs()
        return {"obs": obs} | ({} if masks is None else {"masks": masks})

    def collect(self, index: int, weights: Arrays, noise: np.ndarray) -> Answer:
        """The rollout of this number, as plain arrays."""
        began = time.perf_counter()
        if self._keep_states:
            self._before[index] = self.collector.state()
            self._before.pop(index - self._keep_states - 1, None)
        load_weights(self.policy, weights)
        collected = self.collector.collect_with(self.policy, noise)
        rollout, collector = collected.rollout, self.collector
        arrays: Arrays = {
            "obs": rollout.obs,
            "actions": rollout.actions,
            "rewards": rollout.rewards,
            "terminated": rollout.terminated,
            "truncated": rollout.truncated,
            "life_lost": rollout.life_lost,
            "begun": rollout.begun,
            "ages": collector.frame_ages,
            **_endings("cut", collector.truncated, rollout.obs),
            **_endings("final", rollout.final_obs, rollout.obs),
        }
        if rollout.masks is not None:
            arrays["masks"] = rollout.masks
        if self._evaluates:
            arrays |= {"log_probs": rollout.log_probs, "values": rollout.values}
            if rollout.head_values is not None:
                arrays["head_values"] = rollout.head_values
        episodes = [
            [t, self.start + row, e.total, e.plain, e.length, e.values, e.task, e.truncated]
            for (t, row), e in zip(collector.places, collected.episodes, strict=True)
        ]
        return Answer(
            {
                "episodes": episodes,
                "part_sums": rollout.part_sums,
                "restarts": self.envs.restarts,
                "seconds": time.perf_counter() - began,
            },
            arrays,
        )

    def state(self, before: int | None) -> Answer:
        """The collector's state now, or at the beginning of a rollout; whether envs can be continued."""
        state = self.collector.state() if before is None else self._before.get(before)
        return Answer({"state": encode(state), "carries": self.envs.carries_state}, {})

    def load(self, state: dict[str, Any]) -> Answer:
        self._before.clear()
        notice = self.collector.load_state(self.policy, decode(state))
        return Answer({"notice": notice}, self.shown())


def _endings(name: str, endings: list[Ending], like: np.ndarray) -> Arrays:
    """Where episodes ended, and their true last observations."""
    rows = [np.full(len(envs), step) for step, envs, _ in endings]
    last = [obs for _, _, obs in endings]
    return {
        f"{name}_steps": np.concatenate(rows) if rows else np.zeros(0, np.int64),
        f"{name}_envs": np.concatenate([envs for _, envs, _ in endings]) if rows else np.zeros(0, np.int64),
        f"{name}_obs": np.concatenate(last) if rows else like[0, :0],
    }


class Shares:
    """All that one actor process does: the shares that it was given, each by its number."""

    def __init__(self, versions: dict[str, str]) -> None:
        self._versions = versions
        self._shares: dict[int, Share] = {}

    def answer(self, message: dict[str, Any], arrays: Arrays, shared: Arrays | None = None) -> Answer:
        """Do what a message asks for. What goes wrong is an answer too: only a lost process gives none."""
        try:
            return self._answer(message, arrays, shared)
        except EnvFailure as failure:
            index = failure.index + self._shares[message["share"]].start
            trace = "".join(traceback.format_exception(failure))
            return Answer({"env_failure": [index, failure.seed, failure.reason, trace]}, {})
        except GymnastError as error:
            return Answer({"error": str(error)}, {})
        except Exception:
            return Answer({"bug": traceback.format_exc()}, {})

    def _answer(self, message: dict[str, Any], arrays: Arrays, shared: Arrays | None) -> Answer:
        number = message.get("share", 0)
        match message["do"]:
            case "hello":
                where = {"pid": os.getpid(), "host": socket.gethostname()}
                return Answer({"versions": self._versions, **where}, {})
            case "build":
                self._drop(number)
                share = self._shares[number] = Share(json.loads(message["order"]))
                return Answer({"carries": share.envs.carries_state}, share.shown())
            case "collect":
                assert shared is not None
                return self._shares[number].collect(message["index"], shared, arrays["noise"])
            case "state":
                return self._shares[number].state(message["before"])
            case "load":
                return self._shares[number].load(message["state"])
            case "drop":
                self._drop(number)
                return Answer({}, {})
        raise ValueError(f"an actor cannot do {message['do']!r}")

    def _drop(self, number: int) -> None:
        if (share := self._shares.pop(number, None)) is not None:
            share.envs.close()

    def close(self) -> None:
        for number in list(self._shares):
            self._drop(number)
