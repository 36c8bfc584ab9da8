"""`gymnast sweep` as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL = ["--max-env-steps", "4k", "eval.every=2048", "eval.episodes=3", "--workers", "1"]


def gymnast(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        check=False,
    )


@pytest.mark.timeout(600)
def test_from_a_preset_to_a_config_that_trains(tmp_path: Path) -> None:
    args = ["CartPole-v1:ppo", *SMALL, "--trials", "2", "--method", "random", "--race-seeds", "0"]
    done = gymnast("sweep", *args, "--test-seeds", "0", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert values["status"] == "finished"
    assert len(values["all_trials"]) == 2
    status = gymnast("sweep", "status", "@last", cwd=tmp_path)
    assert f"sweep {values['id']}" in status.stdout
    assert "2 of 2 trials" in status.stdout
    applied = gymnast("sweep", "apply", values["id"], "--trial", "1", "--name", "mine", cwd=tmp_path)
    assert "train it with" in applied.stdout
    text = (tmp_path / "configs" / "mine.yaml").read_text()
    assert text.startswith(f"# Trial 1 of sweep {values['id']}")
    again = gymnast("sweep", "apply", values["id"], "--name", "mine", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    trained = gymnast("train", "mine", "--json", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    run = json.loads(trained.stdout)
    shown = json.loads(gymnast("runs", "show", run["id"], "--json", cwd=tmp_path).stdout)
    point = values["all_trials"][1]["point"]
    assert shown["settings"]["algo.gamma"] == point["algo.gamma"]
    assert shown["settings"]["algo.lr.start"] == point["algo.lr.start"]
    best = gymnast("sweep", "best", "--json", cwd=tmp_path)
    assert json.loads(best.stdout)["best"]["trial"] in (0, 1)
    report = gymnast("sweep", "report", cwd=tmp_path)
    assert "## What was searched" in report.stdout
    exported = gymnast("sweep", "export", cwd=tmp_path).stdout
    (tmp_path / "exported.yaml").write_text(exported)
    once_more = gymnast("sweep", "exported.yaml", "--trials", "1", "--test-seeds", "0", "-q", cwd=tmp_path)
    assert once_more.returncode == 0, once_more.stderr
    listed = json.loads(gymnast("sweep", "list", "--json", cwd=tmp_path).stdout)
    assert [sweep["id"] for sweep in listed][1] == values["id"]


FILE = "command: [gymnast, train, CartPole-v1:ppo]\nparameters:\n  algo.gamma: {min: 0.9, max: 0.99}\n"


@pytest.mark.parametrize(
    ("words", "file", "message"),
    [
        (["CartPol-v1:ppo"], "", "CartPole-v1"),
        (["CartPole-v1:pppo"], "", "has no variant 'pppo'"),
        (["CartPole-v1:ppo", "algo.lrr=3"], "", "algo.lrr"),
        (["CartPole-v1:ppo", "--method", "magic"], "", "there is no 'magic'"),
        (["CartPole-v1:ppo", "--objective", "eval/retrun/mean"], "", "eval/return/mean"),
        (["CartPole-v1:ppo", "--objective", "score_auc_seconds"], "", "budget.wall_time"),
        (["CartPole-v1:ppo", "--from", "nobody"], "", "no run 'nobody'"),
        (
            ["CartPole-v1:ppo", "--on", "mars"],
            "",
            "--on mars: there is no such place; it is local, ray, modal",
        ),
        (["CartPole-v1:ppo", "--on", "ray://10.0.0.5:6379"], "", "RAY_ADDRESS=10.0.0.5:6379"),
        (["CartPole-v1:ppo", "--objective", "explore/explained_variance"], "", "it comes with explore.name"),
        (["CartPole-v1:ppo", "--trials", "0"], "", "greater than or equal to 1"),
        (["CartPole-v1:ppo", "--method", "grid"], "", "needs a list of values"),
        (["sweep.yaml"], FILE + "metod: grid\n", "metod: unknown key"),
        (["sweep.yaml"], FILE.replace("0.99", "0.5"), "must be less than max"),
        (["sweep.yaml"], FILE.replace("gamma", "gama"), "algo.gamma"),
        (["sweep.yaml"], FILE + "metric: {name: no/such}\n", "no/such"),
        (["sweep.yaml"], FILE + "metric: {name: task/pong/return/mean}\n", "it comes with env.mix"),
        (["sweep.yaml"], "parameters:\n  algo.gamma: {min: 0.9, max: 0.99}\n", "does not say what to train"),
        (["nothing.yaml"], "", "no such file"),
        ([], "", "Usage"),
        (["status", "abc"], "", "there are no sweeps"),
        (["status", "../../etc"], "", "there are no sweeps"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_started(
    tmp_path: Path, words: list[str], file: str, message: str
) -> None:
    if file:
        (tmp_path / "sweep.yaml").write_text(file)
    done = gymnast("sweep", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    runs = Path(os.environ["GYMNAST_RUNS_DIR"])
    assert not runs.exists() or not any(runs.iterdir())


def test_without_optuna_bayes_names_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "from gymnast.cli.app import main\n"
        "main(['sweep', 'CartPole-v1:ppo', '--method', 'bayes'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=110, check=False
    )
    assert done.returncode == 2
    assert "gymnast[sweep]" in done.stderr


def test_help_costs_little() -> None:
    code = "import sys; from gymnast.cli.app import main\ntry:\n    main(['sweep', '--help'])\nfinally:\n    "
    code += "assert not {'numpy', 'optuna', 'rich'} & set(sys.modules), 'heavy'"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "gymnast sweep resume @last" in done.stdout
