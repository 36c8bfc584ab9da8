"""Each kept checkpoint has the metrics row of its own moment, however it was scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymnast import api
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs.checkpoint import list_checkpoints
from reports.conftest import OVERRIDES


@pytest.mark.parametrize("background", [False, True])
def test_checkpoint_has_the_row_of_its_moment(tmp_path: Path, background: bool) -> None:
    overrides = {
        **OVERRIDES,
        "eval.background": background,
        "budget.env_steps": 20_000 if background else 4096,
        "checkpoint.keep": 100,
    }
    run = api.train("CartPole-v1:ppo", overrides=overrides, runs_dir=tmp_path)
    rows = {row["time/env_steps"]: row for row in read_metrics(run.folder.metrics_path)}
    scored = 0
    for checkpoint in list_checkpoints(run.folder):
        sidecar, row = checkpoint.sidecar(), rows[checkpoint.env_steps]
        if sidecar.reason == "before evaluation":  # it was saved before its update was complete
            continue
        own = {key: value for key, value in row.items() if not key.startswith(("eval/", "time/eval"))}
        assert {key: sidecar.metrics.get(key) for key in own} == own
        assert {"alert/critical", "alert/warning", "train/kl"} <= set(own)
        if sidecar.score is not None:
            scored += 1
            assert sidecar.metrics["eval/env_steps"] == checkpoint.env_steps
            assert sidecar.metrics["eval/return/mean"] == sidecar.score
            assert sidecar.metrics["eval/best"] >= sidecar.score
    assert scored
