"""A policy with a memory, stopped and resumed, ends as the one never stopped; acting carries its state.

Broken on purpose, each of these made a test here fail: states not saved; saved and not loaded; kept
although the envs had to start new episodes; evaluation that keeps states over episode ends.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.envs.build import env_seeds
from gymnast.envs.families.tmaze import TMazeEnv
from gymnast.policies.policy import Policy
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint
from gymnast.training.run.keys import TerminalKeys

Train = Callable[..., api.Run]
Stopper = Callable[[int], TerminalKeys]
Same = Callable[[api.Run, api.Run], None]

CASES: dict[str, dict[str, Any]] = {
    "lstm": {"policy__memory": "lstm", "policy__memory_size": 8},
    "gru-shared-minibatches": {
        "policy__memory": "gru",
        "policy__memory_size": 8,
        "policy__shared": True,
        "algo__batch_size": 0.5,
        "algo__sequence_length": 8,
        "policy__normalize_obs": "running",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_resumed_run_equals_the_one_never_stopped(
    name: str, train: Train, tmp_path: Path, stop_after: Stopper, assert_same_run: Same
) -> None:
    # A limit of 23 and rollouts of 16 steps: episodes are truncated, and continue over the end of a rollout.
    changes = {"env__max_episode_steps": 23, **CASES[name]}
    whole = train("Acrobot-v1:ppo", tmp_path, updates=8, **changes)
    parts = train("Acrobot-v1:ppo", tmp_path, updates=8, requests=stop_after(3), **changes)
    assert parts.outcome.status == "interrupted"
    _, state, _ = load_checkpoint(list_checkpoints(parts.folder)[-1])
    assert (np.abs(state["source"]["memory"]).sum((0, 2)) > 0).any()  # in the middle of an episode
    parts = api.resume(parts.id, runs_dir=tmp_path)
    assert_same_run(whole, parts)


def test_a_resume_that_starts_new_episodes_remembers_nothing(
    train: Train, tmp_path: Path, stop_after: Stopper, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train("Acrobot-v1:ppo", tmp_path, requests=stop_after(2), policy__memory="lstm", eval__every=0)
    from gymnast.rollout.collector import Collector

    collectors: list[Any] = []
    collect = Collector.collect

    def watched(self: Collector, *given: Any, **more: Any) -> Any:
        collectors.append(self)
        if len(collectors) == 1:
            assert self._memory is not None
            assert (self._memory.state.array() == 0).all()
        return collect(self, *given, **more)

    monkeypatch.setattr(Collector, "collect", watched)
    again = api.resume(run.id, runs_dir=tmp_path, overrides={"env.n_envs": 2, "algo.n_steps": 32})
    assert collectors
    assert "new episodes" in again.folder.log_path.read_text()


def play(policy: Policy, length: int, episodes: int, seeds: list[int]) -> list[float]:
    """Greedy episodes in plain envs side by side; the returns in the order in which they were started."""
    n = len(seeds)
    envs = [TMazeEnv(length) for _ in seeds]
    seen = np.array([env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)])
    state, returns, playing, started = policy.start(n), [0.0] * 1000, list(range(n)), n
    done = [False] * 1000
    while not all(done[:episodes]):
        ended = np.zeros(n, bool)
        for i, action in enumerate(policy.predict(seen, state=state)):
            seen[i], reward, ended[i], _, _ = envs[i].step(int(action))
            returns[playing[i]] += reward
            if ended[i]:
                seen[i], _ = envs[i].reset()
                done[playing[i]] = True
                playing[i], started = started, started + 1
        state.reset(ended)
    return returns[:episodes]


@pytest.mark.slow
def test_evaluation_keeps_a_state_for_each_env_and_forgets_where_episodes_end(
    train: Train, tmp_path: Path
) -> None:
    # Barely trained, with large action weights: what it does depends on all that it remembers.
    run = train(
        "gymnast/TMaze-v0:ppo-lstm",
        tmp_path,
        updates=4,
        env__kwargs={"length": 3},
        policy__actor_gain=3.0,
        algo__lr=1e-3,
        eval__background=True,
        eval__n_envs=2,
        eval__episodes=30,
        eval__seed=8,
    )
    checkpoint = f"{run.id}/@best"
    policy = api.load_policy(checkpoint, runs_dir=tmp_path)
    for n in (1, 3):
        found = api.evaluate(checkpoint, episodes=40, n_envs=n, seed=3, runs_dir=tmp_path)
        assert list(found.returns) == play(policy, 3, 40, env_seeds(3, n))
    # In another process the same weights score the same.
    again = api.evaluate(checkpoint, episodes=30, seed=8, runs_dir=tmp_path)
    assert again.mean_return == run.outcome.best_score
