"""The Python API: what its functions are called, what they take, and what they return."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints

SHORT: dict[str, Any] = {
    "env.n_envs": 4,
    "algo.n_steps": 32,
    "algo.batch_size": "all",
    "algo.n_epochs": 4,
    "eval.every": 1000,
    "eval.episodes": 5,
    "stop.eval_return": None,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(runs: Path) -> api.Run:
    return api.train("CartPole-v1:ppo", overrides=SHORT, max_env_steps=4000, runs_dir=runs)


def parameters(function: Any) -> dict[str, Any]:
    empty = inspect.Parameter.empty
    found = inspect.signature(function).parameters.values()
    return {p.name: "required" if p.default is empty else p.default for p in found}


SIGNATURES = {
    "train": {
        "reference": "required",
        "overrides": (),
        "max_env_steps": None,
        "wall_time": None,
        "init_from": None,
        "runs_dir": None,
        "console": None,
        "requests": None,
    },
    "resume": {
        "run": "@last",
        "overrides": (),
        "fresh_optimizer": False,
        "max_env_steps": None,
        "wall_time": None,
        "runs_dir": None,
        "console": None,
        "requests": None,
    },
    "evaluate": {
        "reference": "@last",
        "episodes": 100,
        "stochastic": None,
        "seed": None,
        "n_envs": None,
        "runs_dir": None,
    },
    "load_policy": {"run": "@last", "runs_dir": None},
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_stable(name: str) -> None:
    """Scripts and front ends call these by keyword: adding one at the end is fine, changing one is not."""
    found = parameters(getattr(api, name))
    assert list(found.items())[: len(SIGNATURES[name])] == list(SIGNATURES[name].items())
    keyword_only = list(inspect.signature(getattr(api, name)).parameters.values())[1:]
    assert all(p.kind is p.KEYWORD_ONLY for p in keyword_only)


def test_result_fields_are_stable() -> None:
    assert [field.name for field in dataclasses.fields(api.Run)] == ["folder", "outcome"]
    assert {"run", "checkpoint", "env_steps", "episodes", "mean_return", "std_return", "min_return"} <= {
        field.name for field in dataclasses.fields(api.Evaluation)
    }


def test_importing_the_api_is_cheap() -> None:
    heavy = ("numpy", "gymnasium", "torch", "pydantic", "rich", "ruamel.yaml")
    code = f"import sys, gymnast.api; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_train_returns_the_run(run: api.Run, runs: Path) -> None:
    assert run.path == runs / run.id
    assert run.outcome.status == "finished"
    assert run.outcome.env_steps == 4096
    rows = run.metrics()
    assert len(rows) == 32
    assert rows[-1]["time/env_steps"] == 4096
    assert run.folder.info()["env"] == "CartPole-v1"


def test_overrides_may_be_a_map_or_words(runs: Path) -> None:
    words = [f"{key}={'null' if value is None else value}" for key, value in SHORT.items()]
    one = api.train("CartPole-v1:ppo", overrides=[*words, "seed=5"], max_env_steps=256, runs_dir=runs)
    two = api.train("CartPole-v1:ppo", overrides={**SHORT, "seed": 5}, max_env_steps=256, runs_dir=runs)
    assert one.folder.config_text() == two.folder.config_text()
    assert one.metrics()[-1]["train/loss/total"] == two.metrics()[-1]["train/loss/total"]


def test_runs_are_kept_in_the_configured_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(tmp_path / "by environment"))
    by_environment = api.train("CartPole-v1:ppo", overrides={**SHORT, "eval.every": 1}, max_env_steps=128)
    assert by_environment.path.parent == tmp_path / "by environment"
    assert api.evaluate(episodes=1).run == by_environment.id
    monkeypatch.delenv("GYMNAST_RUNS_DIR")
    by_default = api.train("CartPole-v1:ppo", overrides=SHORT, max_env_steps=128)
    assert by_default.path.resolve().parent == tmp_path / "runs"
    assert api.resume(max_env_steps=256).id == by_default.id


def test_evaluate_returns_the_score_of_its_episodes(run: api.Run, runs: Path) -> None:
    score = api.evaluate(f"{run.id}/@last", episodes=7, runs_dir=runs)
    assert (score.run, score.checkpoint, score.env_steps) == (run.id, "4096", 4096)
    assert score.episodes == len(score.returns) == 7
    assert score.mean_return == np.mean(score.returns)
    assert score.std_return == np.std(score.returns)
    assert (score.min_return, score.max_return) == (min(score.returns), max(score.returns))
    assert score.mean_length == score.mean_return  # CartPole: 1 per step
    assert score.solved is (score.mean_return >= 475)
    assert api.evaluate(f"{run.id}/@last", episodes=7, seed=score.seed, runs_dir=runs) == score
    other = api.evaluate(f"{run.id}/@last", episodes=7, seed=score.seed + 1, runs_dir=runs)
    assert other.returns != score.returns
    assert api.evaluate(f"{run.id}/@last", episodes=7, n_envs=1, runs_dir=runs).returns[0] >= 1
    with pytest.raises(GymnastError, match="at least 1"):
        api.evaluate(run.id, episodes=0, runs_dir=runs)


def test_policy_plays_in_any_loop(run: api.Run) -> None:
    policy = api.load_policy(run)
    env = gym.make("CartPole-v1")
    obs, _ = env.reset(seed=1)
    for _ in range(5):
        action = policy.predict(obs[None])[0]
        assert env.action_space.contains(action)
        obs, *_ = env.step(action)
    assert policy.values(obs[None]).shape == (1,)


def test_unknown_runs_checkpoints_and_keys_are_errors(run: api.Run, runs: Path) -> None:
    for call in (
        lambda: api.evaluate("nosuch", runs_dir=runs),
        lambda: api.evaluate(f"{run.id}/@bset", runs_dir=runs),
        lambda: api.evaluate(f"{run.id}/17", runs_dir=runs),
        lambda: api.load_policy("nosuch", runs_dir=runs),
        lambda: api.resume("nosuch", runs_dir=runs),
        lambda: api.resume(run.id, overrides={"algo.lrr": 1}, max_env_steps=10_000, runs_dir=runs),
    ):
        with pytest.raises(GymnastError) as caught:
            call()
        assert caught.value.exit_code == 2


class TestInitFrom:
    """A new run with the weights of another."""

    @pytest.mark.parametrize("which", ["", "/@best", "/@last"])
    def test_starts_at_the_other_runs_score(self, which: str, run: api.Run, runs: Path) -> None:
        source = f"{run.id}{which}"
        new = api.train(
            "CartPole-v1:ppo",
            overrides={**SHORT, "seed": 9, "eval.seed": 4},
            init_from=source,
            max_env_steps=256,
            runs_dir=runs,
        )
        before = api.evaluate(source, episodes=9, seed=4, runs_dir=runs)
        after = api.evaluate(f"{new.id}/0", episodes=9, seed=4, runs_dir=runs)
        assert after.returns == before.returns
        theirs = api.load_policy(source, runs_dir=runs).arrays()
        mine = api.load_policy(f"{new.id}/0", runs_dir=runs).arrays()
        assert all((mine[name] == value).all() for name, value in theirs.items())
        assert new.id != run.id
        assert new.folder.info()["init_from"] == f"{run.id}/{before.env_steps}"
        assert f"starts from the policy of {run.id}/{before.env_steps}" in new.folder.log_path.read_text()
        assert new.metrics()[0]["time/env_steps"] == 128, "its own counters begin at 0"
        assert run.id in {entry.id for entry in registry.entries(runs)}

    def test_resume_is_exact(self, run: api.Run, runs: Path) -> None:
        start = {"reference": "CartPole-v1:ppo", "init_from": run.id, "runs_dir": runs}
        whole = api.train(overrides=SHORT, max_env_steps=512, **start)
        part = api.train(overrides=SHORT, max_env_steps=512, **start)
        # As if it had been killed before its second checkpoint.
        for checkpoint in list_checkpoints(part.folder)[1:]:
            checkpoint.json_path.unlink()
        part = api.resume(part.id, runs_dir=runs)
        a, b = (api.load_policy(f"{r.id}/@last", runs_dir=runs).arrays() for r in (whole, part))
        assert all((a[name] == value).all() for name, value in b.items())

    def test_statistics_are_taken_over(self, tmp_path: Path) -> None:
        changes = {**SHORT, "policy.normalize_obs": "running", "eval.every": 0}
        old = api.train("Pendulum-v1:ppo", overrides=changes, max_env_steps=256, runs_dir=tmp_path)
        new = api.train(
            "Pendulum-v1:ppo", overrides=changes, init_from=old.id, max_env_steps=128, runs_dir=tmp_path
        )
        count = "obs_norm.count"
        assert api.load_policy(f"{new.id}/0", runs_dir=tmp_path).arrays()[count] == 256
        assert api.load_policy(f"{new.id}/@last", runs_dir=tmp_path).arrays()[count] == 256 + 128


class TestPublicNames:
    """`gymnast.api` imports a name only when it is used."""

    def test_table_and_types_agree(self) -> None:
        tree = ast.parse(Path(api.__file__).read_text())
        typed = {
            (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gymnast.api.")
            for alias in node.names
        }
        assert typed == {(f"gymnast.api.{module}", name) for name, module in api._MODULE_OF.items()}

    @pytest.mark.parametrize("name", dir(api))
    def test_every_name_is_there(self, name: str) -> None:
        assert getattr(api, name) is not None

    def test_no_name_is_that_of_a_module(self) -> None:
        modules = {path.stem for path in Path(api.__file__).parent.glob("*.py")}
        assert modules.isdisjoint(dir(api)), "importing the module would replace the name"

    def test_importing_every_module_replaces_nothing(self) -> None:
        for module in set(api._MODULE_OF.values()):
            import_module(f"gymnast.api.{module}")
        assert callable(api.train)
        assert callable(api.evaluate)

    def test_unknown_name_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match=r"module 'gymnast.api' has no attribute 'trian'"):
            getattr(api, "trian")  # noqa: B009 - a type checker would refuse it


class TestRuns:
    """What `gymnast runs` shows, from Python."""

    def test_list_show_compare_and_best(self, run: api.Run, runs: Path) -> None:
        other = api.train("CartPole-v1:ppo", overrides={**SHORT, "seed": 8}, max_env_steps=512, runs_dir=runs)
        newest = api.list_runs(limit=1, runs_dir=runs)[0]
        assert (newest.id, newest.env, newest.status) == (other.id, "CartPole-v1", "finished")
        summary = api.show_run(run, runs_dir=runs)
        assert summary.run.best_score == run.outcome.best_score == max(e.score for e in summary.evals)
        assert [c.env_steps for c in summary.checkpoints if c.last] == [4096]
        assert summary.settings["algo.n_steps"] == 32
        compared = api.compare_runs([run, other.id], runs_dir=runs)
        assert [entry.id for entry in compared.runs] == [run.id, other.id]
        assert compared.settings["seed"] == [0, 8]
        (best,) = api.best_runs(runs_dir=runs)
        assert best.best_score == max(e.best_score or 0.0 for e in api.list_runs(runs_dir=runs))
        assert api.find_run("@best", runs_dir=runs).id == best.id

    def test_delete(self, runs: Path) -> None:
        spare = api.train(
            "CartPole-v1:ppo", overrides={**SHORT, "eval.every": 0}, max_env_steps=128, runs_dir=runs
        )
        asked: list[str] = []

        def refuse(doomed: list[api.RunEntry]) -> bool:
            asked.extend(entry.id for entry in doomed)
            return False

        assert api.delete_runs([spare], confirm=refuse, runs_dir=runs) == []
        assert (asked, spare.path.is_dir()) == ([spare.id], True)
        assert api.delete_runs([spare, spare.id], runs_dir=runs) == [spare.id]
        assert not spare.path.exists()
        assert spare.id not in {entry.id for entry in api.list_runs(runs_dir=runs)}


class TestCatalogues:
    """Environments, wrappers, metrics and settings as typed data."""

    def test_envs(self) -> None:
        found = api.list_envs("cartpol")
        assert (found[0].name, found[0].family) == ("CartPole-v1", "classic control")
        assert "ppo" in found[0].variants

    def test_wrappers(self) -> None:
        (wrapper,) = api.list_wrappers("reward-clip")
        assert wrapper.help
        assert all(isinstance(argument.required, bool) for argument in wrapper.arguments)

    def test_metrics_and_keys(self) -> None:
        assert next(metric.key for metric in api.list_metrics("time/env_steps")) == "time/env_steps"
        assert "algo.lr" in {key.name for key in api.config_keys("learning rate")}
        with pytest.raises(GymnastError, match="no key has 'xyzzy'"):
            api.config_keys("xyzzy")

    def test_config_and_network(self) -> None:
        shown = api.show_config("CartPole-v1:ppo", overrides={"seed": 3})
        assert (shown.name, shown.config.seed) == ("CartPole-v1:ppo", 3)
        assert shown.sources["seed"] == "overrides"
        assert shown.network.engine == "numpy"
        assert shown.network.tree is not None
        assert shown.network.tree.parameters == 2531
        assert api.describe_network(shown.config) == shown.network
        assert [v.ok for v in api.validate_configs(["CartPole-v1:ppo"])] == [True]


TRAIN_KEYS = {"id", "path", "status", "reason", "env_steps", "seconds", "best_score", "last_score", "solved"}
EVAL_KEYS = {
    *("run", "checkpoint", "env_steps", "episodes", "mean_return", "std_return", "min_return", "max_return"),
    *("mean_length", "solved", "stochastic", "seed", "returns"),
}


def test_json_keys_are_stable(run: api.Run, runs: Path) -> None:
    """What scripts read from `--json`."""

    def printed(*words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "gymnast", *words, "--json", "--runs-dir", str(runs)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        read: dict[str, Any] = json.loads(done.stdout)
        return read

    assert printed("eval", run.id, "--episodes", "2").keys() == EVAL_KEYS
    trained = printed("train", "CartPole-v1:ppo", "--max-env-steps", "1k", "eval.every=0")
    assert trained.keys() == TRAIN_KEYS
    assert trained["best_score"] is None


def test_a_trace_of_a_run_becomes_a_table_of_steps(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", max_env_steps=2048, runs_dir=tmp_path)
    trace = api.record_trace(run, max_steps=30, frames=False)
    again = api.load_trace(api.save_trace(trace, tmp_path / "trace"))
    table = api.steps_table(again, gamma=0.9, lam=0.5)
    assert len(table["step"]) <= 30
    assert table["reward"].sum() == len(table["step"])
    header, *rows = api.steps_csv(table, tmp_path / "steps.csv").splitlines()
    assert header == ",".join(table)
    assert (tmp_path / "steps.csv").read_text().splitlines() == [header, *rows]
    assert len(rows) == len(table["step"])
