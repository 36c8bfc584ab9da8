"""`gymnast wandb dashboard` against a server on loopback."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.metrics import catalogue
from wandb_server import wandb_server


@pytest.mark.filterwarnings("ignore::DeprecationWarning:wandb_workspaces")
def test_dashboard_is_made_once_then_updated(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        made = api.wandb_dashboard(project="cartpole")
        again = api.wandb_dashboard(project="cartpole")
        assert (made.updated, again.updated) == (False, True)
        assert made.url == again.url
        server.views.clear()  # someone deleted it
        assert api.wandb_dashboard(project="cartpole").updated is False
    (view,) = server.views.values()
    assert (view["entityName"], view["projectName"]) == ("tester", "cartpole")
    sections = json.loads(view["spec"])["section"]["panelBankConfig"]["sections"]
    names = [section["name"] for section in sections]
    assert names[:2] == ["eval", "train"]
    panels: list[dict[str, Any]] = [panel["config"] for section in sections for panel in section["panels"]]
    assert len(panels) == made.panels
    clip = next(panel for panel in panels if panel["chartTitle"] == "train/clip_fraction")
    assert (clip["yAxisMin"], clip["yAxisMax"], clip["xAxis"]) == (0, 1, "time/vec_steps")
    patterns = [re.compile(panel["metricRegex"]) for panel in panels]
    for metric in catalogue.all_metrics():
        if metric.priority < 3 and metric.key != "time/vec_steps":
            key = metric.key.replace("*", "some-name")
            assert sum(pattern.search(key) is not None for pattern in patterns) == 1, key


@pytest.mark.filterwarnings("ignore::DeprecationWarning:wandb_workspaces")
@pytest.mark.parametrize(
    ("preset", "entropy", "length", "score"),
    [
        ("MountainCar-v0:ppo", math.log(3), 200, (-200, 0)),  # every step costs 1
        ("CartPole-v1:ppo", math.log(2), 500, (None, None)),  # a step may earn nothing
        ("Pendulum-v1:ppo", None, 200, (None, None)),  # real numbers have an entropy without bounds
    ],
)
def test_axes_have_the_bounds_of_a_presets_env(
    preset: str,
    entropy: float | None,
    length: int,
    score: tuple[float | None, float | None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        api.wandb_dashboard(preset)
    (view,) = server.views.values()
    sections = json.loads(view["spec"])["section"]["panelBankConfig"]["sections"]
    axes = {
        panel["config"]["chartTitle"]: (panel["config"].get("yAxisMin"), panel["config"].get("yAxisMax"))
        for section in sections
        for panel in section["panels"]
    }
    assert axes["train/entropy"] == ((None, None) if entropy is None else (0, pytest.approx(entropy)))
    assert axes["train/length/mean"] == axes["eval/length/mean"] == (0, length)
    assert axes["eval/return/mean"] == axes["eval/best"] == score
    assert axes["train/clip_fraction"] == (0, 1)  # as the catalogue says


def test_dashboard_of_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(GymnastError, match=r"did you mean 'CartPole-v1'"):
        api.wandb_dashboard("CartPol-v1:ppo")


def test_dashboard_without_login_is_one_line(tmp_path: Path) -> None:
    leave_out = ("WANDB_API_KEY", "WANDB_BASE_URL", "NETRC")
    environment = {name: value for name, value in os.environ.items() if name not in leave_out}
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", "wandb", "dashboard"],
        env=environment | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "error: W&B: not logged in; run `wandb login`, or set WANDB_API_KEY\n"
    assert (done.returncode, done.stdout) == (2, "")


def test_dashboard_with_an_unknown_axis_names_the_nearest() -> None:
    with pytest.raises(GymnastError, match=r"no x axis 'env_step' \(did you mean 'env_steps'"):
        api.wandb_dashboard(x_axis="env_step")
