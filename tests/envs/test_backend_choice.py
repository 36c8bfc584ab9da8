"""`auto`: by rule where that is clear, otherwise measured once and remembered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gymnast.envs.backends import choice as backend_choice
from gymnast.envs.backends.choice import choose_backend
from gymnast.envs.backends.groups import groups_of
from gymnast.envs.build import build_envs, build_training_envs
from gymnast.envs.contract import Envs
from gymnast.envs.measure.cache import cache_file
from gymnast.envs.settings import EnvConfig


def choose(
    monkeypatch: pytest.MonkeyPatch, sync: float, workers: float, n_envs: int = 8
) -> tuple[str, list[str]]:
    """The choice when the backends take these seconds a step, and which were measured."""
    measured: list[str] = []

    def build(name: str) -> Envs:
        measured.append(name)
        return name  # type: ignore[return-value]

    monkeypatch.setattr(
        backend_choice, "_seconds_per_step", lambda name: {"sync": sync, "workers": workers}[name]
    )
    choice = choose_backend(
        EnvConfig(id="Pendulum-v1"),
        n_envs,
        build=build,
        native_possible=lambda: False,
        workers_possible=lambda: True,
    )
    return choice, measured


def test_cartpole_is_native_without_measuring(own_cache: Path) -> None:
    assert build_envs(EnvConfig(id="CartPole-v1"), n_envs=8, seed=0).backend == "native"
    assert build_envs(EnvConfig(id="CartPole-v1"), n_envs=1, seed=0).backend == "sync"
    assert not own_cache.exists()


def test_a_cheap_env_stays_in_this_process_and_no_worker_is_started(own_cache: Path) -> None:
    envs = build_envs(EnvConfig(id="FrozenLake-v1"), n_envs=4, seed=0)
    assert envs.backend == "sync"
    assert list(json.loads(cache_file().read_text()).values()) == ["sync"]
    assert cache_file().parent == own_cache


def test_workers_are_measured_only_where_steps_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, sync=1e-4, workers=1e-9) == ("sync", ["sync"])
    assert choose(monkeypatch, sync=1e-2, workers=5e-3, n_envs=9) == ("workers", ["sync", "workers"])
    # A small gain is not worth the cores.
    assert choose(monkeypatch, sync=1e-2, workers=9e-3, n_envs=10) == ("sync", ["sync", "workers"])


def test_the_choice_is_remembered_for_just_this_config(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, sync=1e-2, workers=1e-3)[1] == ["sync", "workers"]
    assert choose(monkeypatch, sync=1e-4, workers=1e-3) == ("workers", [])
    assert choose(monkeypatch, sync=1e-4, workers=1e-3, n_envs=16) == ("sync", ["sync"])


@pytest.mark.parametrize("damage", ["{", "[1]", '{"a": 3}', "\x00"])
def test_a_damaged_cache_is_ignored_and_mended(monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    cache_file().parent.mkdir(parents=True)
    cache_file().write_text(damage)
    assert choose(monkeypatch, sync=1e-2, workers=1e-3)[0] == "workers"
    assert choose(monkeypatch, sync=1e-2, workers=1e-3)[1] == []


def test_a_cache_that_cannot_be_written_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GYMNAST_CACHE_DIR", str(tmp_path / "file" / "below"))
    for _ in range(2):
        assert choose(monkeypatch, sync=1e-2, workers=1e-3)[1] == ["sync", "workers"]


def test_measuring_is_real() -> None:
    config = EnvConfig(id="LunarLander-v3", workers=2)
    envs = build_envs(config, n_envs=24, seed=0)
    envs.close()
    assert envs.backend in ("sync", "workers")
    assert len(json.loads(cache_file().read_text())) == 1


def test_groups_share_the_cores_and_the_choice_is_that_of_all_of_them(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    """Measured with a group's share of the cores, workers would not win, and groups are of no use without."""
    monkeypatch.setattr("gymnast.envs.measure.cache.usable_cores", lambda: 4)
    processes: list[int] = []

    def seconds(envs: Envs) -> float:
        workers = len(getattr(envs, "_workers", []))
        envs.close()
        if workers:
            processes.append(workers)
        return 1e-2 / max(1, workers)

    monkeypatch.setattr(backend_choice, "_seconds_per_step", seconds)
    config = EnvConfig(id="Pendulum-v1", n_envs=8, groups=4)
    envs = build_training_envs(config, seed=0)
    try:
        assert processes == [2]  # measured once: as many as there are envs in a group
        assert envs.backend == "workers"
        assert [len(group.envs._workers) for group in groups_of(envs)] == [1] * 4  # type: ignore[attr-defined]
    finally:
        envs.close()
    together = build_envs(config, seed=0, backend="workers")
    assert len(together._workers) == 4  # type: ignore[attr-defined]
    together.close()
