"""Workers that die or hang: replaced by fresh ones, their episodes cut off, until the budget is spent."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast.envs.backends.in_process import restart_seed
from gymnast.envs.backends.restarts import LONGEST_PAUSE, RestartConfig, Restarts
from gymnast.envs.backends.worker import Worker, WorkerLost
from gymnast.envs.build import build_envs, env_seeds
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

SEEDS = env_seeds(0, 4)
GO = np.zeros(4, np.int64)
PATIENT = {"backoff": 0}
HASTY = {"backoff": 0, "timeout": 3}


def failing(how: str, bad: int | None = 2, restarts: dict[str, Any] = PATIENT, **more: Any) -> EnvConfig:
    seeds = [] if bad is None else [SEEDS[bad]]
    kwargs = {"how": how, "seeds": seeds, **more}
    return EnvConfig(id="sample_envs:Failing", kwargs=kwargs, workers=2, restarts=restarts)


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("how", "restarts", "reason"),
    [
        ("die", PATIENT, "killed by SIGKILL"),
        ("segfault", PATIENT, "killed by SIGSEGV"),
        ("exit", PATIENT, "ended with code 3"),
        ("hang", HASTY, "gave no answer for 3 s"),
        ("spin", HASTY, "gave no answer for 3 s"),
    ],
)
def test_a_lost_worker_is_replaced_and_its_episodes_are_cut_off(
    how: str, restarts: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    envs = build_envs(failing(how, restarts=restarts), n_envs=4, seed=0, backend="workers")
    try:
        envs.reset()
        healthy, sick = envs.process_ids
        envs.step(GO)
        before = envs.step(GO)
        assert (before.lost, before.final_obs, envs.restarts) == (None, None, 0)
        seen = before.obs.copy()
        step = envs.step(GO)
        # Envs 2 and 3 shared the process: both are lost, the other two know nothing of it.
        assert step.lost is not None
        assert step.final_obs is not None
        assert step.lost.tolist() == step.truncated.tolist() == [False, False, True, True]
        assert not step.terminated.any()
        assert step.rewards.tolist() == [1, 1, 0, 0]
        np.testing.assert_array_equal(step.final_obs[2:], seen[2:])
        np.testing.assert_allclose(step.obs[:, 0], [0.3, 0.3, 0, 0])
        assert envs.restarts == 1
        assert envs.process_ids[0] == healthy
        assert envs.process_ids[1] != sick
        assert gone(sick)
        # From other seeds, or the very same would happen again.
        assert envs.seeds == [*SEEDS[:2], *(restart_seed(seed, 1) for seed in SEEDS[2:])]
        for at in range(1, 6):
            step = envs.step(GO)
            assert step.lost is None
            np.testing.assert_allclose(step.obs[:, 0], [0.3 + at / 10, 0.3 + at / 10, at / 10, at / 10])
        (line,) = caplog.messages
        assert line.startswith("envs 2 to 3 are lost: the worker process ")
        assert reason in line
        assert line.endswith("(1 of 10 restarts)")
    finally:
        envs.close()


def test_a_worker_killed_between_steps(caplog: pytest.LogCaptureFixture) -> None:
    config = EnvConfig(id="CartPole-v1", workers=4, restarts=PATIENT)
    envs = build_envs(config, n_envs=4, seed=0, backend="workers")
    try:
        envs.reset()
        envs.step(GO)
        os.kill(envs.process_ids[3], signal.SIGKILL)
        envs.send(GO)
        os.kill(envs.process_ids[1], signal.SIGSTOP)  # slow is not lost: it answers once it runs again
        os.kill(envs.process_ids[1], signal.SIGCONT)
        step = envs.receive()
        assert step.lost is not None
        assert step.lost.tolist() == [False, False, False, True]
        assert "env 3 is lost" in caplog.text
    finally:
        envs.close()


def test_several_that_hang_are_waited_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    config = failing("hang", bad=None, restarts={"budget": 0, "timeout": 1}, at=1)
    envs = build_envs(config, n_envs=4, seed=0, backend="workers")
    asked: list[float | None] = []
    real = Worker.answer

    def answer(worker: Worker, seconds: float, since: float | None = None) -> int:
        asked.append(since)
        return real(worker, seconds, since)

    monkeypatch.setattr(Worker, "answer", answer)
    try:
        envs.reset()
        asked.clear()
        with pytest.raises(EnvFailure, match="gave no answer for 1 s"):
            envs.step(GO)
        assert len(asked) == 2
        assert asked[0] is not None
        assert asked[0] == asked[1]
    finally:
        envs.close()


def test_time_is_counted_from_when_a_worker_was_asked() -> None:
    envs = build_envs(failing("hang", bad=None, at=1), n_envs=4, seed=0, backend="workers")
    try:
        envs.reset()
        envs.send(GO)
        with pytest.raises(WorkerLost, match="no answer for 1000 s"):
            envs._workers[0].answer(1000, since=time.monotonic() - 999)
    finally:
        envs.close()


def test_values_of_a_lost_episode_are_not_made_up() -> None:
    config = EnvConfig(
        id="sample_envs:Tells", workers=2, wrappers=("sample_envs:CountsOnes",), restarts=PATIENT
    )
    envs = build_envs(config, n_envs=2, seed=0, backend="workers")
    try:
        envs.reset()
        envs.step(np.ones(2, np.int64))
        os.kill(envs.process_ids[1], signal.SIGKILL)
        step = envs.step(np.ones(2, np.int64))  # the other one's first episode ends here
        assert (step.terminated.tolist(), step.truncated.tolist()) == ([True, False], [False, True])
        assert step.episode_values["ones"][0] == 2
        assert np.isnan(step.episode_values["ones"][1])
        assert step.reward_parts["bonus"].tolist() == [0.5, 0.0]
    finally:
        envs.close()


def test_masks_are_those_of_the_new_episode() -> None:
    config = EnvConfig(id="Taxi-v4", workers=2, action_masks=True, restarts=PATIENT)
    envs = build_envs(config, n_envs=2, seed=0, backend="workers")
    try:
        envs.reset()
        os.kill(envs.process_ids[0], signal.SIGKILL)
        envs.step(np.zeros(2, np.int64))
        new_seed = envs.seeds[0]
        expected = build_envs(config.model_copy(update={"workers": 1}), n_envs=1, seed=0, backend="sync")
        expected._envs[0].reset(seed=new_seed)
        mask = expected._envs[0].unwrapped.action_mask(expected._envs[0].unwrapped.s)
        assert envs.masks is not None
        np.testing.assert_array_equal(envs.masks[0], mask)
    finally:
        envs.close()


def test_a_crash_in_the_first_reset_is_survived() -> None:
    envs = build_envs(failing("exit-reset", bad=0), n_envs=4, seed=0, backend="workers")
    try:
        np.testing.assert_array_equal(envs.reset(), np.zeros((4, 3)))
        assert envs.restarts == 1
        assert envs.step(GO).rewards.tolist() == [1, 1, 1, 1]
    finally:
        envs.close()


@pytest.mark.parametrize("how", ["exit", "exit-reset"])
def test_when_the_budget_is_spent_the_env_has_failed(how: str) -> None:
    """One crashes at every first step, the other on every reset: there is no way out."""
    config = failing(how, bad=None, restarts={"budget": 3, "backoff": 0}, at=1)
    envs = build_envs(config, n_envs=4, seed=0, backend="workers")
    try:
        with pytest.raises(EnvFailure) as failure:
            for _ in range(20):
                if envs.reset() is not None:
                    envs.step(GO)
        assert envs.restarts == 3
        assert failure.value.reason.endswith("; all 3 restarts are spent (env.restarts.budget)")
        assert f"ended with code {3 if how == 'exit' else 4}" in failure.value.reason
    finally:
        envs.close()


def test_an_env_that_raises_is_a_bug_and_not_restarted() -> None:
    envs = build_envs(failing("raise"), n_envs=4, seed=0, backend="workers")
    try:
        envs.reset()
        envs.step(GO)
        envs.step(GO)
        with pytest.raises(EnvFailure, match="the motor broke"):
            envs.step(GO)
        assert envs.restarts == 0
    finally:
        envs.close()


def test_children_of_a_lost_worker_end_with_it(tmp_path: Path) -> None:
    """Games are often programs of their own, which their library starts."""
    note = tmp_path / "pid"
    config = EnvConfig(
        id="sample_envs:WithChild", kwargs={"note": str(note)}, workers=1, restarts={"backoff": 0}
    )
    envs = build_envs(config, n_envs=1, seed=0, backend="workers")
    try:
        envs.reset()
        child = int(note.read_text())
        assert not gone(child)
        os.kill(envs.process_ids[0], signal.SIGKILL)
        envs.step(GO[:1])
        state = Path(f"/proc/{child}/stat")
        assert not state.exists() or " Z " in state.read_text()
    finally:
        envs.close()


def test_a_snapshot_with_a_lost_worker_starts_new_episodes_there() -> None:
    config = EnvConfig(id="CartPole-v1", workers=2, restarts=PATIENT)
    envs = build_envs(config, n_envs=2, seed=0, backend="workers")
    again = build_envs(config, n_envs=2, seed=0, backend="workers")
    try:
        envs.reset()
        envs.step(GO[:2])
        os.kill(envs.process_ids[1], signal.SIGKILL)
        snapshot = envs.snapshot()
        assert envs.restarts == 0  # the step that follows replaces it, where its episode can be cut off
        step = envs.step(GO[:2])
        assert step.lost is not None
        assert step.lost.tolist() == [False, True]
        assert again.restore(snapshot) is not None
        assert again.step(GO[:2]).rewards.tolist() == [1, 1]
    finally:
        envs.close()
        again.close()


def test_a_lost_worker_cannot_be_captured_and_the_next_step_replaces_it() -> None:
    config = EnvConfig(id="CartPole-v1", workers=2, restarts=PATIENT)
    envs = build_envs(config, n_envs=2, seed=0, backend="workers")
    try:
        envs.reset()
        envs.step(GO[:2])
        states = envs.capture([0, 1])
        os.kill(envs.process_ids[1], signal.SIGKILL)
        with pytest.raises(EnvFailure, match=r"env 1 .* is lost: .* SIGKILL; the next step replaces it"):
            envs.capture([0, 1])
        with pytest.raises(EnvFailure, match="env 1"):
            envs.begin_from([1, 0], states)
        step = envs.step(GO[:2])
        assert step.lost is not None
        assert step.lost.tolist() == [False, True]
        assert envs.begin_from([1, 0], states).shape == (2, 4)
        assert envs.step(GO[:2]).lost is None
    finally:
        envs.close()


def test_pauses_double_for_the_same_envs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("gymnast.envs.backends.restarts.time.sleep", pauses.append)
    restarts = Restarts(RestartConfig(budget=20, backoff="3s"))
    for rows in [(0, 1), (0, 1), (4, 8), (0, 1), (0, 1), (0, 1)]:
        restarts.begin(rows, "it was switched off")
    assert pauses == [3, 6, 3, 12, 24, LONGEST_PAUSE]
    assert not restarts.spent
    assert restarts.count == 6


@pytest.mark.parametrize(
    "restarts", [{"budget": -1}, {"backoff": "soon"}, {"timeout": -2}, {"patience": 3}, {"budget": 1.5}]
)
def test_settings_that_make_no_sense(restarts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="restarts"):
        EnvConfig(id="CartPole-v1", restarts=restarts)


def test_envs_that_must_be_alone_get_a_process_each() -> None:
    config = EnvConfig(id="sample_envs:Alone", workers=1)
    envs = build_envs(config, n_envs=3, seed=0)
    try:
        assert envs.backend == "workers"
        assert len(set(envs.process_ids)) == 3
        other = build_envs(config, n_envs=1, seed=1)  # as evaluation does
        envs.reset()
        other.reset()
        envs.step(GO[:3])
        other.close()
    finally:
        envs.close()
    with pytest.raises(GymnastError, match="a process can hold one of them, not 2; use workers or auto"):
        build_envs(config, n_envs=2, seed=0, backend="sync")
    alone = build_envs(config, n_envs=1, seed=0, backend="sync")
    alone.reset()
    alone.close()
