"""The live table of a sweep, from a state that is made by hand."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gymnast import api
from gymnast.cli.sweep_view import LiveView
from gymnast.sweeps.folder import create_sweep
from gymnast.sweeps.planning import Wanted, make_plan
from gymnast.sweeps.state import RunRecord, SweepState, TrialRecord
from gymnast.terminal.painter import Painter


def test_the_table_has_the_front_what_is_trained_the_rest_and_what_matters(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "command: [gymnast, train, CartPole-v1:ppo]\nmethod: random\nrun_cap: 20\n"
        "parameters:\n  algo.gamma: {min: 0.9, max: 0.99}\n  algo.gae_lambda: {min: 0.5, max: 0.99}\n"
    )
    plan, _ = make_plan(Wanted(str(path)), tmp_path)
    folder = create_sweep(tmp_path)
    state = SweepState(folder.id, plan, "2026-01-02T03:04:05+00:00", seconds=120.0)
    for number in range(13):  # the value depends on gamma alone
        point = {"algo.gamma": 0.9 + 0.007 * number, "algo.gae_lambda": 0.5 + 0.037 * (5 * number % 13)}
        run = RunRecord(f"{state.id}-{number}-{1000 + number}", 1000 + number, "search")
        run.status, run.env_steps, run.seconds, run.value = "finished", 100_000, 9.0, 100.0 + 30 * number
        state.trials.append(TrialRecord(number, "random", point, dict(point), runs=[run]))
    state.trials[-1].runs[0].status = "running"
    state.trials[-1].runs[0].value = None
    view = LiveView(Painter(io.StringIO(), size=(120, 40), color=False))
    sweep = api.Sweep(folder, state, driven=True)
    view.show(sweep)
    text = "\n".join(view.lines(sweep, 119, 38))
    assert f"sweep {state.id}" in text
    assert "13 of 20 trials: 12 finished" in text
    assert "left" in text
    front, rest = text.split("being trained")
    table = front.split("score_auc")[1]
    rows = [line.split()[0] for line in table.splitlines() if line[:1].isdigit()]
    assert rows == [str(number) for number in range(11, 3, -1)]
    assert "trial 12" in rest
    assert "seed 1012" in rest
    weights = rest.split("importance of settings")[1].split()
    assert weights.index("gamma") < weights.index("gae_lambda")
