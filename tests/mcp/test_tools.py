"""Every tool, called rightly and wrongly through the in-memory client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.mcp.serving import Serving
from mcp_clients import NEVER_SOLVED, Failed, begun, call, finished

pytestmark = pytest.mark.timeout(300)  # a busy machine


@pytest.fixture
def own(tmp_path: Path) -> Serving:
    return Serving(runs_dir=tmp_path / "runs")


def watched(serving: Serving, run: str, seconds: float = 100) -> dict[str, Any]:
    until = time.monotonic() + seconds
    now = call(serving, "watch_run", run=run, wait_seconds=5)
    while now["state"] in ("starting", "running") and time.monotonic() < until:
        now = call(serving, "watch_run", run=now["run"], wait_seconds=5, since_step=now["env_steps"])
    return now


def test_find_environments(own: Serving) -> None:
    found = call(own, "find_environments", query="cartpole")
    first = found["found"][0]
    assert first["name"] == "CartPole-v1"
    assert "CartPole-v1:ppo" in first["references"]
    assert first["solved_at"] == 475
    assert first["ready"]
    page = call(own, "find_environments", limit=2)
    following = call(own, "find_environments", limit=2, offset=page["next_offset"])
    assert page["total"] > 4
    assert {one["name"] for one in page["found"]}.isdisjoint(one["name"] for one in following["found"])
    with pytest.raises(Failed, match="families: "):
        call(own, "find_environments", family="no such family")
    with pytest.raises(Failed, match="no environment matches 'zebra crossing': try one word"):
        call(own, "find_environments", query="zebra crossing")


def test_look_up(own: Serving) -> None:
    found = call(own, "look_up", query="algo.lr")
    assert found["found"][0]["name"] == "algo.lr"
    assert call(own, "look_up", query="kl.high", kind="alert")["found"][0]["kind"] == "alert"
    assert {one["kind"] for one in call(own, "look_up", query="entropy", limit=100)["found"]} >= {
        "setting",
        "metric",
        "alert",
    }
    with pytest.raises(Failed, match="nothing mentions"):
        call(own, "look_up", query="zebra crossing")


def test_get_config(own: Serving) -> None:
    brief = call(own, "get_config", reference="CartPole-v1:ppo", overrides={"algo.lr": 0.01})
    assert "lr: 0.01" in brief["yaml"]
    assert "# overrides" in brief["yaml"]
    full = call(own, "get_config", reference="CartPole-v1:ppo", detail="full")
    assert len(full["yaml"]) > len(brief["yaml"])
    with pytest.raises(Failed, match="did you mean 'lr'"):
        call(own, "get_config", reference="CartPole-v1:ppo", overrides=["algo.lrr=1"])
    with pytest.raises(Failed, match="CartPole-v1"):
        call(own, "get_config", reference="CartPol-v1:ppo")


def test_validate_config(own: Serving) -> None:
    assert call(own, "validate_config", reference="CartPole-v1:ppo")["ok"]
    wrong = call(own, "validate_config", reference="CartPole-v1:ppo", overrides={"algo.gamma": 2})
    assert not wrong["ok"]
    assert "algo.gamma" in wrong["problem"]
    assert call(own, "validate_config", yaml="extends: CartPole-v1:ppo\nalgo: {lr: 0.01}\n")["ok"]
    wrong = call(own, "validate_config", yaml="env: {id: CartPole-v1}\nalgo:\n  name: ppo\n  lrr: 1\n")
    assert wrong["problem"].startswith("yaml:4: algo.lrr: unknown key")
    wrong = call(own, "validate_config", yaml="env: {id: CartPole-v1, wrappers: [no_such]}")
    assert "no_such" in wrong["problem"]
    assert "not valid YAML" in call(own, "validate_config", yaml="a: [1")["problem"]
    with pytest.raises(Failed, match="one of the two"):
        call(own, "validate_config", reference="CartPole-v1:ppo", yaml="seed: 1")
    both = r"arguments: overrides: Input should be a valid dictionary or a valid list, got 'algo.lr=1'$"
    with pytest.raises(Failed, match=both):
        call(own, "validate_config", reference="CartPole-v1:ppo", overrides="algo.lr=1")


def test_start_watch_stop_resume(own: Serving) -> None:
    order = {"reference": "CartPole-v1:ppo", "overrides": NEVER_SOLVED, "seed": 5}
    started = call(own, "start_training", **order, max_env_steps="2M", wall_time="5m")
    assert started["state"] in ("starting", "running")  # nobody waited for its end
    assert started["command"].startswith(
        "gymnast train CartPole-v1:ppo stop.eval_return=null eval.every=50000 seed=5 --max-env-steps"
    )
    now = begun(own, started)
    assert now["state"] == "running"
    run = now["run"]
    assert api.show_run(run, runs_dir=own.runs_dir).command[:2] == ["gymnast", "train"]
    with pytest.raises(Failed, match="being trained already"):
        call(own, "resume_training", run=run)
    paused = call(own, "stop_training", run=run, pause=True)
    assert paused["state"] == "paused"
    assert call(own, "resume_training", run=run)["state"] == "running"
    assert call(own, "stop_training", run=run)["state"] == "interrupted"
    steps = api.run_state(api.find_run(run, runs_dir=own.runs_dir)).env_steps
    with pytest.raises(Failed, match="is not being trained"):
        call(own, "stop_training", run=run)
    resumed = call(own, "resume_training", run=run, max_env_steps=steps + 20_000)
    assert resumed["run"] == run  # whether it trains already or not
    ended = watched(own, resumed["run"])
    assert call(own, "describe_run", run=run)["resumes"] == [f"at {steps}: {resumed['command']}"]
    assert ended["state"] in ("finished", "solved")
    assert ended["env_steps"] > steps
    assert ended["run"] == run


@pytest.mark.slow
def test_watch_run_returns_as_soon_as_the_run_ends(own: Serving) -> None:
    """Long before the time that it may wait: nothing else can have changed."""
    quiet = {**NEVER_SOLVED, "eval.every": 10_000_000, "observe.alerts": False}
    order = {"reference": "CartPole-v1:ppo", "overrides": quiet, "max_env_steps": 100_000, "on": "none"}
    run = call(own, "start_training", **order)["run"]
    now = call(own, "watch_run", run=run, wait_seconds=45)
    while now["state"] in ("starting", "running"):
        assert now["changed"], "it waits for something to happen"
        now = call(own, "watch_run", run=now["run"], wait_seconds=45)
    assert now["state"] in ("finished", "solved")
    assert now["changed"] == f"the run is {now['state']}"


@pytest.mark.slow
def test_start_training_with_actors(own: Serving) -> None:
    order = {
        "reference": "CartPole-v1:ppo",
        "overrides": NEVER_SOLVED,
        "max_env_steps": 4096,
        "on": "local:2",
    }
    started = call(own, "start_training", **order)
    now = watched(own, started["run"])
    assert now["state"] == "finished", now
    assert api.run_settings(now["run"], runs_dir=own.runs_dir)["cluster.actors"] == 2


@pytest.mark.slow
def test_start_training_like_a_run(own: Serving) -> None:
    wrong = {"algo.lr": 0.9, "algo.gamma": 0.95}
    first = api.train("CartPole-v1:ppo", overrides=wrong, max_env_steps=4000, runs_dir=own.runs_dir)
    started = call(own, "start_training", like_run=first.id, overrides=["algo.lr=0.001"], seed=7)
    assert "algo.lr=0.001" in started["command"]
    now = watched(own, started["run"])
    assert now["state"] in ("finished", "solved")
    settings = api.run_settings(now["run"], runs_dir=own.runs_dir)
    assert [settings[key] for key in ("algo.lr", "algo.gamma", "seed")] == [0.001, 0.95, 7]
    assert settings["budget.env_steps"] == 4000
    assert api.run_state(own.run(now["run"])).name == "CartPole-v1:ppo"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of the two"),
        ({"reference": "CartPole-v1:ppo", "like_run": "@last"}, "one of the two"),
        ({"reference": "CartPole-v1:pppo"}, "pppo"),
        ({"reference": "CartPole-v1:ppo", "overrides": {"algo.lrr": 1}}, "unknown key"),
        ({"reference": "CartPole-v1:ppo", "max_env_steps": "many"}, "max_env_steps"),
        ({"reference": "CartPole-v1:ppo", "seed": -1}, "seed"),
        ({"reference": "CartPole-v1:ppo", "init_from": "nothing"}, "no run"),
        ({"reference": "CartPole-v1:ppo", "steps": 10}, "no argument 'steps'"),
        ({"reference": "CartPole-v1"}, "variants"),
        ({"reference": "Cartpole"}, "did you mean 'CartPole-v1'"),
        ({"reference": "CartPole-v1:ppo", "on": "modal"}, "costs money"),
        ({"reference": "CartPole-v1:ppo", "on": "ray://10.0.0.1:10001"}, "with --trust"),
        ({"reference": "CartPole-v1:ppo", "on": "locall:2"}, "did you mean"),
    ],
)
def test_start_training_refuses(own: Serving, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(Failed, match=message):
        started = call(own, "start_training", **arguments)
        begun(own, started)  # a slow machine answers later
    assert not own.runs_dir or api.list_runs(runs_dir=own.runs_dir) == []


def test_watch_run(trained: Any) -> None:
    now = call(trained.serving, "watch_run", run=trained.good, wait_seconds=45)
    assert now["state"] in ("finished", "solved")
    assert now["changed"] == f"the run is {now['state']}"  # known at once: there is nothing to wait for
    assert now["solved_at"] == 475
    assert "train/return/mean" in now["metrics"]
    assert now["log"]
    bad = call(trained.serving, "watch_run", run=trained.bad)
    found = call(trained.serving, "diagnose_run", run=bad["run"])["alerts"]
    for step in (0, *(one["steps"][0] for one in found), bad["env_steps"], bad["env_steps"] + 1):
        later = call(trained.serving, "watch_run", run=trained.bad, since_step=step)
        expected = {
            one["id"] for one in found if one["steps"][1 if one["severity"] == "critical" else 0] >= step
        }
        assert {one["id"] for one in later["alerts"]} == expected  # none of those that merely last
    with pytest.raises(Failed, match="watch_run gives the id"):
        call(trained.serving, "describe_run", run="start-12345678")
    for wrong in ({"run": "zzz"}, {"run": "start-12345678"}, {"run": trained.good, "wait_seconds": 60}):
        with pytest.raises(Failed):
            call(trained.serving, "watch_run", **wrong)


def test_list_and_describe(trained: Any) -> None:
    listed = call(trained.serving, "list_runs", env="cartpole", sort="best")
    assert [run["id"] for run in listed["runs"]] == [trained.good, trained.bad]
    assert call(trained.serving, "list_runs", limit=1)["next_offset"] == 1
    assert call(trained.serving, "list_runs", algo="a2c")["runs"] == []
    brief = call(trained.serving, "describe_run", run=trained.bad)
    assert brief["settings"]["algo.lr"] == 0.9
    assert "algo.gamma" in call(trained.serving, "describe_run", run=trained.bad, detail="full")["settings"]
    assert brief["checkpoints"][0]["checkpoint"].startswith(f"{trained.bad}/")
    with pytest.raises(Failed, match="no run of 'pong'"):
        call(trained.serving, "list_runs", env="pong")
    with pytest.raises(Failed, match="state"):
        call(trained.serving, "list_runs", state="great")
    with pytest.raises(Failed, match="no run 'zzz'"):
        call(trained.serving, "describe_run", run="zzz")


def test_get_metrics(trained: Any) -> None:
    found = call(trained.serving, "get_metrics", run=trained.good, metrics=["kl", "value loss"])
    first, *others = found["series"]
    assert first["metric"] == "train/kl"
    assert "train/loss/value" in [one["metric"] for one in others]
    assert len(first["x"]) == len(first["y"]) <= 20
    assert first["stats"]["min"] <= first["stats"]["mean"] <= first["stats"]["max"]
    assert any("⠀" < letter < "⣿" for line in first["chart"] for letter in line)  # braille
    late = call(trained.serving, "get_metrics", run=trained.good, metrics=["kl"], start=6000, points=3)
    assert min(late["series"][0]["x"]) >= 6000
    assert len(late["series"][0]["x"]) == 3
    everything = call(trained.serving, "get_metrics", run=trained.good, metrics=["*"])
    assert len(everything["also_matching"]) > 50
    returns = call(trained.serving, "get_metrics", run=trained.good, metrics=["return"], chart=False)
    assert [one["metric"] for one in returns["series"]][:2] == ["eval/return/mean", "train/return/mean"]
    with pytest.raises(Failed, match=r"no metric 'retrun' \(did you mean 'eval/return/mean' or"):
        call(trained.serving, "get_metrics", run=trained.good, metrics=["retrun"])
    with pytest.raises(Failed, match="no metric 'zebra'"):
        call(trained.serving, "get_metrics", run=trained.good, metrics=["zebra"])
    with pytest.raises(Failed, match="points"):
        call(trained.serving, "get_metrics", run=trained.good, points=51)
    with pytest.raises(Failed, match="no values between"):
        call(trained.serving, "get_metrics", run=trained.good, start=1e9, end=2e9)
    with pytest.raises(Failed, match=r"no values from 1e\+09 on in run"):
        call(trained.serving, "get_metrics", run=trained.good, start=1e9)
    with pytest.raises(Failed, match="no values up to -1 in run"):
        call(trained.serving, "get_metrics", run=trained.good, end=-1)


def test_compare_runs(trained: Any) -> None:
    found = call(trained.serving, "compare_runs", runs=[trained.good, trained.bad])
    assert found["settings"]["seed"] == [0, 1]
    assert found["settings"]["algo.lr"][1] == 0.9
    assert [run["letter"] for run in found["runs"]] == ["A", "B"]
    assert any("A" in line for line in found["chart"])
    grouped = call(trained.serving, "compare_runs", env="CartPole-v1", group_by="auto", metric="kl")
    assert grouped["metric"] == "train/kl"
    assert len(grouped["groups"]) == 2
    assert "too few seeds" in grouped["verdicts"][0]
    with pytest.raises(Failed, match="at least two"):
        call(trained.serving, "compare_runs", runs=[trained.good])
    with pytest.raises(Failed, match="is not a run id"):
        call(trained.serving, "compare_runs", runs=[trained.good, "/etc/passwd"])


def test_diagnose_and_suggest(trained: Any) -> None:
    found = call(trained.serving, "diagnose_run", run=trained.bad, detail="full")
    assert found["alerts"][0]["severity"] == "critical"
    assert all(alert["means"] for alert in found["alerts"])
    assert not call(trained.serving, "diagnose_run", run=trained.bad)["alerts"][0]["means"]
    changes = call(trained.serving, "suggest_changes", run=trained.bad)
    assert any(change["override"].startswith("algo.lr=") for change in changes["changes"])
    assert changes["start"]["like_run"] == trained.bad
    assert all(one["overrides"] and one["why"] for one in changes["tuner"])
    unsolved = call(trained.serving, "suggest_changes", run=trained.good)
    assert unsolved["tuner"], "it ended below the threshold, whatever its alerts say"
    for tool in ("diagnose_run", "suggest_changes"):
        with pytest.raises(Failed, match="no run 'zzz'"):
            call(trained.serving, tool, run="zzz")


def test_report_and_log(trained: Any) -> None:
    brief = call(trained.serving, "get_report", run=trained.good)["text"]
    assert "CartPole-v1:ppo" in brief
    assert len(call(trained.serving, "get_report", run=trained.good, detail="full")["text"]) > len(brief)
    log = call(trained.serving, "read_log", run=trained.good, pattern="CHECKPOINT", lines=1)
    assert log["matching"] >= 2
    assert "checkpoint" in log["lines"][0]
    before = call(trained.serving, "read_log", run=trained.good, before_line=log["first_line"])
    assert log["lines"][0] not in before["lines"]
    with pytest.raises(Failed, match="none of the"):
        call(trained.serving, "read_log", run=trained.good, pattern="zebra")
    with pytest.raises(Failed, match="lines"):
        call(trained.serving, "read_log", run=trained.good, lines=0)
    with pytest.raises(Failed, match="no run"):
        call(trained.serving, "get_report", run="zzz")


def test_evaluate_and_watch_job(trained: Any) -> None:
    done = finished(trained.serving, "evaluate", run=trained.good, episodes=4, wait_seconds=45)
    assert done["state"] == "done"
    assert done["result"]["episodes"] == 4
    again = call(trained.serving, "watch_job", job=done["job"])
    assert again["result"] == done["result"]
    started = call(trained.serving, "evaluate", run=f"{trained.good}/@last", episodes=50, wait_seconds=0)
    assert started["state"] == "working"
    assert finished(trained.serving, "watch_job", job=started["job"], wait_seconds=45)["state"] == "done"
    wrong = finished(trained.serving, "evaluate", run=trained.good, overrides={"env.kwargs.nope": 1})
    assert wrong["state"] == "failed"
    assert "has no argument 'nope'" in wrong["error"]
    for arguments, message in (
        ({"run": trained.good, "episodes": 0}, "episodes"),
        ({"run": f"{trained.good}/77"}, "the nearest is"),
        ({"run": trained.good, "overrides": {"env.n_envz": 1}}, "did you mean 'n_envs'"),
        ({"run": "zzz"}, "no run"),
    ):
        with pytest.raises(Failed, match=message):
            call(trained.serving, "evaluate", **arguments)
    with pytest.raises(Failed, match="no job"):
        call(trained.serving, "watch_job", job="job-../../x")


def test_record_video(trained: Any) -> None:
    pytest.importorskip("av")
    done = finished(trained.serving, "record_video", run=trained.bad, wait_seconds=45)
    assert done["state"] == "done", done
    assert Path(done["result"]["path"]).read_bytes()[4:8] == b"ftyp"
    assert call(trained.serving, "describe_run", run=trained.bad)["videos"][-1] == done["result"]["path"]
    with pytest.raises(Failed, match="no run"):
        call(trained.serving, "record_video", run="zzz", kind="progress")
    with pytest.raises(Failed, match="kind"):
        call(trained.serving, "record_video", run=trained.bad, kind="holiday")


def test_rollout_table(trained: Any) -> None:
    checkpoint = call(trained.serving, "describe_run", run=trained.good)["checkpoints"][-1]["checkpoint"]
    table = call(trained.serving, "get_rollout_table", run=checkpoint, limit=4, wait_seconds=45)
    if table["job"]:  # a busy machine still plays
        finished(trained.serving, "watch_job", job=table["job"])
        table = call(trained.serving, "get_rollout_table", run=checkpoint, limit=4)
    assert {"action", "reward", "value"} <= set(table["columns"])
    assert [row[1] for row in table["rows"]] == ["0", "1", "2", "3"]
    following = call(
        trained.serving, "get_rollout_table", run=checkpoint, limit=1, offset=table["next_offset"]
    )
    assert following["rows"][0][1] == "4"
    with pytest.raises(Failed, match="no run"):
        call(trained.serving, "get_rollout_table", run="zzz")


def test_open_inspector_says_where_it_is(trained: Any) -> None:
    import httpx2

    with pytest.raises(Failed, match="no run"):
        call(trained.serving, "open_inspector", run="zzz")
    opened = call(trained.serving, "open_inspector", run=trained.good)
    try:
        assert opened["url"].startswith("http://127.0.0.1:")
        assert httpx2.get(opened["url"].partition("#")[0], timeout=30).status_code == 200
    finally:
        call(trained.serving, "stop_training", run=opened["job"])


def test_a_crash_leaks_nothing(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(api, "list_runs", crash)
    with pytest.raises(Failed) as error:
        call(trained.serving, "list_runs")
    assert str(error.value) == "Error executing tool list_runs"
