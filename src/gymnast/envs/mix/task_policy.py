"""A policy for several tasks, as a policy for one of them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.mix.form import MixForm
from gymnast.errors import GymnastError, did_you_mean
from gymnast.policies.memory_state import MemoryState
from gymnast.policies.policy import Policy
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.observation_form import ObservationForm
from gymnast.spaces.plain import array_type


class TaskPolicy:
    """Takes one task's own observations and gives its own actions."""

    def __init__(self, policy: Policy, form: MixForm, task: str) -> None:
        if task not in form.names:
            known = ", ".join(form.names)
            raise GymnastError(
                f"no task is called {task!r}{did_you_mean(task, form.names)}; there are {known}"
            )
        self.policy = policy
        self.form = form
        self.task = form.names.index(task)
        self._seen = ObservationForm(form.own_observation_space)
        block = form.block(self.task)
        self._own_choices = gym.spaces.Discrete(block.stop - block.start)

    def start(self, n: int) -> MemoryState:
        """As of `Policy`."""
        return self.policy.start(n)

    def predict(
        self,
        obs: Any,
        *,
        rng: np.random.Generator | None = None,
        masks: Any = None,
        state: MemoryState | None = None,
    ) -> Any:
        """As of `Policy`: greedy, or sampled if given a generator."""
        own = self._seen.batch(obs)
        shape, dtype = array_type(self.form.observation_space)
        seen: np.ndarray = np.zeros((len(own), *shape), dtype)
        for column, name in self.form.columns(seen, self.task, slice(0, len(own))):
            column[...] = own if name is None else own[name]
        if self.form.blocks is None:
            return self.policy.predict(seen, rng=rng, masks=masks, state=state)
        allowed = np.zeros((len(own), self.form.n_logits), np.bool_)
        allowed[:, self.form.block(self.task)] = (
            True if masks is None else MaskReader(self._own_choices).read_batch(masks, len(own))
        )
        chosen = self.policy.predict(seen, rng=rng, masks=allowed, state=state)
        return chosen - self.form.first_choice(self.task)
