from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from gymnast.cli.runs import app
from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs.checkpoint import save_checkpoint
from gymnast.runs.registry import update
from gymnast.runs.store import RunFolder, create_run

Three = tuple[RunFolder, RunFolder, RunFolder]
Invoke = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def invoke(root: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(root))

    def call(*args: str, answer: str | None = None, code: int = 0) -> str:
        result = CliRunner().invoke(app, list(args), input=answer)
        if isinstance(result.exception, GymnastError):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.output

    return call


def make_run(root: Path, env: str, scores: dict[int, float], lr: float = 0.001, **changes: Any) -> RunFolder:
    run = create_run(
        root,
        f"{env}:ppo",
        f"seed: 1\nenv:\n  id: {env}\nalgo:\n  lr: {lr}\n",
        {
            "env": env,
            "variant": "ppo",
            "algo": "ppo",
            "seed": 1,
            "command": ["gymnast", "train", f"{env}:ppo"],
        },
    )
    with Recorder(run.metrics_path) as recorder:
        for step, score in scores.items():
            row = dict.fromkeys(COUNTERS, 0) | {"time/env_steps": step, "time/progress": step / 1000}
            recorder.write({**row, "eval/return/mean": score})
            save_checkpoint(
                run,
                env_steps=step,
                policy={"w": np.zeros(3, np.float32)},
                state={},
                counters={},
                metrics=row,
                score=score,
                reason="eval",
            )
    best = max(scores.values(), default=None)
    update(
        root,
        run.id,
        **{"status": "finished", "best_score": best, "env_steps": max(scores, default=0), **changes},
    )
    return run


@pytest.fixture
def three(root: Path) -> Three:
    return (
        make_run(root, "CartPole-v1", {100: 20.0, 200: 480.0}, solved=True, last_score=480.0, seconds=2.0),
        make_run(root, "CartPole-v1", {100: 30.0}, lr=0.01, status="failed", reason="NaN in env 3"),
        make_run(root, "Pendulum-v1", {100: -900.0, 200: -300.0}),
    )


def test_list_is_the_default_and_newest_first(invoke: Invoke, three: Three) -> None:
    found = json.loads(invoke("--json"))
    assert [entry["id"] for entry in found] == [run.id for run in reversed(three)]
    assert found == json.loads(invoke("list", "--json"))
    text = invoke()
    assert text == invoke("list")
    assert all(run.id in text for run in three)
    assert "480.00" in text
    assert "solved" in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--env", "CartPole-v1"], [1, 0]),
        (["--env", "pend"], [2]),
        (["--status", "failed"], [1]),
        (["--solved"], [0]),
        (["--unsolved"], [2, 1]),
        (["-n", "2"], [2, 1]),
        (["--status", "running"], []),
        (["--status", "solved"], [0]),
        (["--status", "finished"], [2]),
        (["--status", "paused"], []),
    ],
)
def test_filters(invoke: Invoke, three: Three, options: list[str], expected: list[int]) -> None:
    assert [entry["id"] for entry in json.loads(invoke(*options, "--json"))] == [
        three[i].id for i in expected
    ]


def test_status_is_one_word_in_tables_json_and_filters(invoke: Invoke, three: Three) -> None:
    from gymnast.runs.registry import STATES

    listed = {entry["id"]: entry["status"] for entry in json.loads(invoke("--json"))}
    assert list(listed.values()) == ["finished", "failed", "solved"]
    table = invoke()
    for run_id, word in listed.items():
        assert word in STATES
        assert any(run_id in line and f" {word} " in line for line in table.splitlines())
        assert run_id in invoke("--status", word)
        assert json.loads(invoke("show", run_id, "--json"))["run"]["status"] == word
        assert f"status      {word} " in invoke("show", run_id)
    compared = json.loads(invoke("compare", three[0].id, three[1].id, "--json"))["runs"]
    assert [entry["status"] for entry in compared] == ["solved", "failed"]
    assert json.loads(invoke("best", "CartPole-v1", "--json"))[0]["status"] == "solved"
    assert all(word in invoke("list", "--help") for word in STATES)


def test_wrong_filters_name_the_nearest(invoke: Invoke, three: Three) -> None:
    with pytest.raises(GymnastError, match=r"no run of 'CartPol-v2' .did you mean 'CartPole-v1'"):
        invoke("--env", "CartPol-v2")
    with pytest.raises(GymnastError, match=r"no status 'finish'.*did you mean 'finished'"):
        invoke("list", "--status", "finish")


def test_no_runs(invoke: Invoke, root: Path) -> None:
    assert "no runs in" in invoke()
    assert invoke("--json") == "[]\n"
    with pytest.raises(GymnastError, match=r"there are no runs in"):
        invoke("show")
    with pytest.raises(GymnastError, match=r"no run in .* was evaluated yet"):
        invoke("best")
    assert not root.exists()


def test_show(invoke: Invoke, three: Three) -> None:
    run = three[0]
    report = json.loads(invoke("show", run.id[:6], "--json"))
    assert report["run"]["best_score"] == 480.0
    assert report["evals"] == [{"env_steps": 100, "score": 20.0}, {"env_steps": 200, "score": 480.0}]
    assert [(c["env_steps"], c["best"], c["last"]) for c in report["checkpoints"]] == [
        (200, True, True),
        (100, False, False),
    ]
    assert report["settings"]["algo.lr"] == 0.001
    text = invoke("show", run.id)
    assert "gymnast train CartPole-v1:ppo" in text
    assert "2 evaluations, 20.00 to 480.00  ▁█" in text
    assert re.search(r"best score +480\.00 +highest of 2 evaluations, all on the same episodes", text)
    assert "NaN in env 3" in invoke("show", three[1].id)
    assert three[2].id in invoke("show")  # the last one


def test_show_a_run_with_a_damaged_config(
    invoke: Invoke, three: Three, caplog: pytest.LogCaptureFixture
) -> None:
    three[0].config_path.write_text("env: [")
    report = json.loads(invoke("show", three[0].id, "--json"))
    assert report["run"]["best_score"] == 480.0
    assert report["settings"] == {}
    assert "config.yaml: not valid YAML" in caplog.text
    assert "its settings are not shown" in caplog.text


def test_show_a_run_with_a_damaged_checkpoint(invoke: Invoke, three: Three) -> None:
    (three[0].checkpoints / "000000000200.json").write_text("junk")
    saved = json.loads(invoke("show", three[0].id, "--json"))["checkpoints"]
    assert "is damaged" in saved[0]["damaged"]
    assert saved[1]["best"]
    assert "is damaged" in invoke("show", three[0].id)


def test_show_a_run_killed_before_its_first_row(invoke: Invoke, root: Path) -> None:
    run = create_run(root, "X:ppo", "seed: 1\n", {})
    assert json.loads(invoke("show", run.id, "--json"))["run"]["status"] == "interrupted"
    assert "interrupted" in invoke("show", run.id)


def test_compare(invoke: Invoke, three: Three) -> None:
    first, second, _ = three
    found = json.loads(invoke("compare", first.id, second.id, "--json"))
    assert [entry["id"] for entry in found["runs"]] == [first.id, second.id]
    assert found["settings"] == {"algo.lr": [0.001, 0.01]}
    text = invoke("compare", first.id, second.id)
    assert "algo.lr" in text
    assert "0.01" in text
    with pytest.raises(GymnastError, match=r"at least two different runs"):
        invoke("compare", first.id, first.id)


def test_best(invoke: Invoke, root: Path, three: Three) -> None:
    sooner = make_run(root, "CartPole-v1", {50: 480.0}, solved=True)
    top = {entry["env"]: entry["id"] for entry in json.loads(invoke("best", "--json"))}
    assert top == {"CartPole-v1": sooner.id, "Pendulum-v1": three[2].id}
    assert [entry["id"] for entry in json.loads(invoke("best", "Pendulum-v1", "--json"))] == [three[2].id]
    assert sooner.id in invoke("best", "cartpole")


def test_rm(invoke: Invoke, root: Path, three: Three) -> None:
    first, second, third = three
    invoke("rm", first.id, answer="n\n", code=1)
    assert first.path.is_dir()
    assert f"removed {first.id}" in invoke("rm", first.id, answer="y\n")
    assert not first.path.exists()
    with pytest.raises(GymnastError, match=r"add --yes"):
        invoke("rm", second.id, "--json")
    with third.lock(), pytest.raises(GymnastError, match=rf"run {third.id} is being trained; stop it first"):
        invoke("rm", second.id, third.id, "--yes")
    assert second.path.is_dir()  # all or none
    assert json.loads(invoke("rm", second.id, second.id, "--yes", "--json")) == {"removed": [second.id]}
    assert [entry["id"] for entry in json.loads(invoke("--json"))] == [third.id]
    assert second.id not in (root / "registry.json").read_text()


def test_bad_input_through_the_real_command(root: Path, three: Three) -> None:
    code = "from gymnast.cli.app import main; main()"
    environment = {**os.environ, "GYMNAST_RUNS_DIR": "/nonexistent"}
    wrong = [sys.executable, "-c", code, "runs", "show", "../x", "--runs-dir", str(root)]
    done = subprocess.run(wrong, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr == "error: ../x is not a run folder: it has no run.json\n"
    right = [sys.executable, "-c", code, "runs", "--json", "--runs-dir", str(root)]
    done = subprocess.run(right, capture_output=True, text=True, env=environment, check=True)
    assert len(json.loads(done.stdout)) == 3


def test_the_module_imports_nothing_heavy() -> None:
    code = (
        "import sys, gymnast.cli.runs, gymnast.cli.metrics, gymnast.metrics.catalogue\n"
        "print([name for name in ('numpy', 'pydantic', 'gymnasium', 'filelock') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", ["list", "show", "compare", "best"])
def test_help_explains_the_score_auc(invoke: Invoke, command: str) -> None:
    assert "1/B · Σ best(k)" in invoke(command, "--help")


def test_run_without_a_stored_score_auc_gets_one(invoke: Invoke, root: Path, three: Three) -> None:
    before = json.loads(invoke("show", three[0].id, "--json"))["run"]["score_auc"]
    status = json.loads(three[0].status_path.read_text())
    del status["score_auc"]
    three[0].status_path.write_text(json.dumps(status))
    (root / "registry.json").unlink()
    found = {entry["id"]: entry["score_auc"] for entry in json.loads(invoke("--json"))}
    assert found[three[0].id] == before is not None
