"""Actors that are lost, hang, come back or wait as spares: what the learner's envs make of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast.envs.backends.in_process import restart_seed
from gymnast.envs.backends.remote import RemoteEnvs
from gymnast.envs.backends.remote_start import LocalActors, actors_started_by, start_actor_process
from gymnast.envs.backends.remote_tally import actor_metrics
from gymnast.envs.build import build_envs, build_training_envs, env_seeds
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

SEEDS = env_seeds(0, 4)
GO = np.zeros(4, np.int64)
TOKEN = "0123456789abcdef0123"


def failing(how: str, restarts: dict[str, Any], bad: int | None = 2, **more: Any) -> EnvConfig:
    kwargs = {"how": how, "seeds": [] if bad is None else [SEEDS[bad]], **more}
    return EnvConfig(id="sample_envs:Failing", kwargs=kwargs, actors={"count": 2}, restarts=restarts)


def remote(config: EnvConfig, n_envs: int = 4) -> RemoteEnvs:
    envs = build_envs(config, n_envs=n_envs, seed=0, backend="remote")
    assert isinstance(envs, RemoteEnvs)
    return envs


def eventually(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("how", "restarts", "reason"),
    [
        ("die", {"backoff": 0}, "was killed by SIGKILL"),
        ("exit", {"backoff": 0}, "ended with code 3"),
        ("hang", {"backoff": 0, "timeout": 3}, "gave no answer for 3 s"),
    ],
)
def test_a_lost_actor_is_replaced_and_its_episodes_are_cut_off(
    how: str, restarts: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    envs = remote(failing(how, restarts))
    try:
        envs.reset()
        sick = envs.process_ids[1]
        envs.step(GO)
        seen = envs.step(GO).obs.copy()
        step = envs.step(GO)
        assert step.lost is not None
        assert step.final_obs is not None
        assert step.lost.tolist() == step.truncated.tolist() == [False, False, True, True]
        assert not step.terminated.any()
        assert step.rewards.tolist() == [1, 1, 0, 0]
        np.testing.assert_array_equal(step.final_obs[2:], seen[2:])
        np.testing.assert_allclose(step.obs[:, 0], [0.3, 0.3, 0, 0])
        assert envs.restarts == 1
        assert not Path(f"/proc/{sick}").exists()
        assert envs.seeds == [*SEEDS[:2], *(restart_seed(seed, 1) for seed in SEEDS[2:])]
        for at in range(1, 6):
            step = envs.step(GO)
            assert step.lost is None
            np.testing.assert_allclose(step.obs[:, 0], [0.3 + at / 10, 0.3 + at / 10, at / 10, at / 10])
        (line,) = caplog.messages
        assert line.startswith("envs 2 to 3 are lost: the actor actor-")
        assert reason in line
        assert line.endswith("another actor takes its place (1 of 10 restarts)")
        assert actor_metrics(envs)["time/actor_lost/1"] == 1
    finally:
        envs.close()


def test_when_the_budget_is_spent_the_env_has_failed() -> None:
    envs = remote(failing("exit", {"budget": 1, "backoff": 0}, bad=None, at=1))
    try:
        envs.reset()
        with pytest.raises(EnvFailure, match=r"ended with code 3; all 1 restarts are spent"):
            for _ in range(4):
                envs.step(GO)
    finally:
        envs.close()


def test_an_actor_that_waits_takes_the_place_of_a_lost_one() -> None:
    starter = CountingActors()
    with actors_started_by(starter):
        envs = remote(EnvConfig(id="CartPole-v1", actors={"count": 2}, restarts={"backoff": 0}))
    host, port = envs.listener.address
    spare = start_actor_process(host, port, envs.listener.token, "spare")
    try:
        envs.reset()
        assert eventually(lambda: envs.listener.idle == 1)
        assert actor_metrics(envs)["time/actors/spare"] == 1
        os.kill(envs.process_ids[0], signal.SIGKILL)
        step = envs.step(GO)
        assert step.lost is not None
        assert step.lost.tolist() == [True, True, False, False]
        assert envs.process_ids[0] == spare.process.pid
        assert starter.started == 2  # none was started for it
        assert envs.listener.idle == 0
        assert actor_metrics(envs)["time/actors/connected"] == 2
    finally:
        envs.close()
        assert spare.process.wait(timeout=60) == 0  # it was told that this is over
        spare.release()


class CountingActors(LocalActors):
    started = 0

    def start(self, name: str, address: tuple[str, int], token: str) -> None:
        self.started += 1
        super().start(name, address, token)


def test_groups_take_their_actors_from_one_port(monkeypatch: pytest.MonkeyPatch, unused_port: int) -> None:
    monkeypatch.setenv("GYMNAST_ACTOR_TOKEN", TOKEN)
    actors = [start_actor_process("127.0.0.1", unused_port, TOKEN) for _ in range(2)]
    config = EnvConfig(
        id="CartPole-v1",
        n_envs=4,
        groups=2,
        backend="remote",
        actors={"count": 2, "start": "none", "listen": f"127.0.0.1:{unused_port}"},
    )
    envs = build_training_envs(config, seed=0)
    alone = build_training_envs(config.model_copy(update={"backend": "sync"}), seed=0)
    try:
        np.testing.assert_array_equal(envs.reset(), alone.reset())
        for actions in np.random.default_rng(0).integers(0, 2, (40, 4)):
            np.testing.assert_array_equal(envs.step(actions).obs, alone.step(actions).obs)
        metrics = actor_metrics(envs)
        assert metrics["time/actors/connected"] == 2
        assert metrics["time/actors/bytes_per_second"] > 0
        assert metrics["time/actor/0/steps_per_second"] > 0
        assert metrics["time/actor/1/steps_per_second"] > 0
        assert "time/actor/2/steps_per_second" not in metrics
    finally:
        envs.close()
        for actor in actors:
            assert actor.process.wait(timeout=60) == 0
            actor.release()


def test_actors_import_no_torch() -> None:
    """In a process of its own: this one has torch."""
    code = (
        "import sys, threading, numpy as np\n"
        "from gymnast.envs.backends.remote_actor import serve\n"
        "from gymnast.envs.build import build_envs\n"
        "from gymnast.envs.settings import EnvConfig\n"
        "from gymnast.envs.backends.remote_start import actors_started_by\n"
        "class InThreads:\n"
        "    def start(self, name, address, token):\n"
        "        threading.Thread(target=serve, args=(*address, token), kwargs={'name': name}).start()\n"
        "    def problem(self, name): return None\n"
        "    def end(self, name, seconds): return None\n"
        "    def close(self): pass\n"
        "with actors_started_by(InThreads()):\n"
        "    envs = build_envs(EnvConfig(id='CartPole-v1', actors={'count': 2}), n_envs=2, seed=0,"
        " backend='remote')\n"
        "envs.reset(); envs.step(np.zeros(2, np.int64)); envs.close()\n"
        "heavy = {'torch', 'ray', 'optuna', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=110)


def test_an_env_that_cannot_be_built_says_why() -> None:
    config = EnvConfig(id="CartPole-v1", actors={"count": 1})
    starter = LocalActors()
    with actors_started_by(starter):
        envs = remote(config, n_envs=1)
    try:
        envs._order = {**envs._order, "config": config.model_dump(mode="json") | {"id": "NoSuch-v9"}}
        os.kill(envs.process_ids[0], signal.SIGKILL)
        with pytest.raises(EnvFailure, match=r"could not be started again: the actor .*NoSuch"):
            envs.reset()
            envs.step(GO[:1])
    finally:
        envs.close()


def test_actors_by_hand_need_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GYMNAST_ACTOR_TOKEN", raising=False)
    with pytest.raises(GymnastError, match="GYMNAST_ACTOR_TOKEN"):
        remote(EnvConfig(id="CartPole-v1", actors={"start": "none"}))
    file = tmp_path / "token"
    config = EnvConfig(id="CartPole-v1", actors={"start": "none", "token_file": file, "wait": "1s"})
    with pytest.raises(GymnastError, match="cannot be read"):
        remote(config)
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o644)
    with pytest.raises(GymnastError, match="open to other users"):
        remote(config)
    file.chmod(0o600)
    with pytest.raises(
        GymnastError, match=r"env 0 could not be started: .* none dialled in at 127.0.0.1:\d+"
    ):
        remote(config)
    file.write_text("short\n")
    with pytest.raises(GymnastError, match="at least 16 characters"):
        remote(config)


@pytest.mark.parametrize(
    "actors",
    [{"count": 0}, {"listen": "7000"}, {"listen": "host:99999"}, {"start": "ray"}, {"wait": 0}, {"port": 1}],
)
def test_settings_that_make_no_sense(actors: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="actors"):
        EnvConfig(id="CartPole-v1", actors=actors)


def test_a_port_that_is_taken(unused_port: int) -> None:
    import socket

    with socket.create_server(("127.0.0.1", unused_port)):
        config = EnvConfig(id="CartPole-v1", actors={"listen": f"127.0.0.1:{unused_port}"})
        with pytest.raises(GymnastError, match=f"cannot listen there: .*{unused_port}|in use"):
            remote(config)


def test_evaluation_is_stepped_here() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1", backend="remote"), n_envs=2, seed=0, training=False)
    assert envs.backend in ("sync", "native")
    envs.close()
