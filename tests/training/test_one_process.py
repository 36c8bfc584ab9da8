"""Several trainings in one process: each learns as if it were alone, and leaves no trace on the process."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from gymnast import api
from gymnast.processes.threads import one_blas_thread
from gymnast.training.notices import passed_on

Train = Callable[..., api.Run]


class Chatty(gym.Env):
    """Reports its name through the logger now and then."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, name: str) -> None:
        self.name, self.steps = name, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.steps % 8 == 0:
            logging.getLogger("gymnast").warning("%s took %d steps", self.name, self.steps)
        obs = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return obs, float(obs[0] > 0) == action, self.steps % 16 == 0, False, {}


@pytest.fixture
def chatty() -> Any:
    gym.register("test/Chatty-v0", Chatty)
    yield "test/Chatty-v0"
    del gym.registry["test/Chatty-v0"]


def blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def process_state() -> dict[str, Any]:
    logger = logging.getLogger("gymnast")
    return {
        "handlers": list(logger.handlers),
        "filters": list(logger.filters),
        "propagate": logger.propagate,
        "level": logger.level,
        "root": list(logging.getLogger().handlers),
        "warnings": list(warnings.filters),
        "threads": blas(),
        "random": np.random.get_state()[1].tolist(),  # noqa: NPY002  - that nothing touches it
        "torch threads": torch.get_num_threads(),
        "torch random": torch.random.get_rng_state().tolist(),
        "errors": np.geterr(),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{}, {"engine": "torch"}, {"policy__dropout": 0.2}], ids=["numpy", "torch", "torch-dropout"]
)
def test_two_trainings_in_two_threads_learn_as_each_alone(
    train: Train,
    tmp_path: Path,
    assert_same_run: Callable[[api.Run, api.Run], None],
    changes: dict[str, Any],
) -> None:
    def run(seed: int, folder: str) -> api.Run:
        updates = 12 if changes else 60
        return train("CartPole-v1:ppo", tmp_path / folder, updates=updates, seed=seed, **changes)

    alone = [run(seed, "alone") for seed in (1, 2)]
    before = process_state()
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(run, (1, 2), ("together", "together")))
    assert process_state() == before
    for one, other in zip(alone, together, strict=True):
        assert_same_run(one, other)


@pytest.mark.parametrize("ahead", [False, True])
def test_notices_go_to_the_log_of_their_own_run(
    train: Train, tmp_path: Path, chatty: str, ahead: bool, caplog: pytest.LogCaptureFixture
) -> None:
    before = process_state()

    def run(name: str) -> str:
        done = train(chatty, tmp_path, env__kwargs={"name": name}, algo__collect_ahead=ahead, eval__every=0)
        return done.folder.log_path.read_text()

    with ThreadPoolExecutor(2) as pool:
        logs = list(pool.map(run, ("Alice", "Bob")))
    for log, own, other in ((logs[0], "Alice", "Bob"), (logs[1], "Bob", "Alice")):
        assert f"{own} took 16 steps" in log
        assert other not in log
    assert "took" not in caplog.text
    assert process_state() == before
    logging.getLogger("gymnast").warning("after the runs")
    assert "after the runs" in caplog.text


@pytest.mark.slow
def test_training_and_evaluation_live_in_one_process(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=20)
    alone = api.evaluate(run, episodes=5).returns
    before = process_state()
    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(train, "CartPole-v1:ppo", tmp_path, updates=100)
        while not training.done():
            assert api.evaluate(run, episodes=5).returns == alone
    assert process_state() == before
    assert training.result().outcome.status == "finished"


def test_messages_of_another_context_go_to_the_usual_handlers(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("gymnast")
    received: list[str] = []

    def report(text: str) -> None:
        thread = threading.Thread(target=logger.warning, args=(text,))
        thread.start()
        thread.join()

    with passed_on(received.append):
        logger.warning("own")
        report("foreign")
        thread = threading.Thread(target=copy_context().run, args=(logger.warning, "passed on"))
        thread.start()
        thread.join()
        with passed_on():
            logger.warning("swallowed")
        logger.warning("own again")
    assert received == ["own", "passed on", "own again"]
    assert [record.getMessage() for record in caplog.records] == ["foreign"]


def test_thread_limit_lasts_until_the_last_leaves_and_is_then_as_before() -> None:
    before = blas()
    assert before
    first_left, second_is_in = threading.Event(), threading.Event()
    seen: list[list[int]] = []

    def second() -> None:
        with one_blas_thread():
            second_is_in.set()
            first_left.wait(10)
            seen.append(blas())

    with one_blas_thread():
        thread = threading.Thread(target=second)
        thread.start()
        second_is_in.wait(10)
        assert set(blas()) == {1}
    first_left.set()
    thread.join()
    assert seen == [[1] * len(before)]
    assert blas() == before


def test_thread_limit_works_within_a_limit_of_the_caller() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        with one_blas_thread():
            assert set(blas()) == {1}
        assert blas() == before


def test_thread_limit_is_lifted_after_a_failed_training(train: Train, tmp_path: Path) -> None:
    class Abort(Exception):
        pass

    class Aborting:
        def poll(self) -> set[Any]:
            raise Abort

        def wait(self, seconds: float) -> set[Any]:
            time.sleep(seconds)
            return set()

        def __enter__(self) -> Aborting:
            return self

        def __exit__(self, *_: object) -> None: ...

    before = process_state()
    with pytest.raises(Abort):
        train("CartPole-v1:ppo", tmp_path, requests=Aborting())
    assert process_state() == before
