"""`api.diagnose`: a run's own alerts found again in its metrics, and those of other libraries' files."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.metrics.alerts.foreign.translate import likely_actions

DATA = Path(__file__).parents[2] / "data"
EVENTS = "events.out.tfevents.1700000000.host.1.0"


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Its budget ends between two evaluations, and once more after a resume."""
    root = tmp_path_factory.mktemp("runs")
    run = api.train("CartPole-v1:ppo", overrides={"algo.lr": 0.3}, max_env_steps=12_000, runs_dir=root)
    return api.resume(run, max_env_steps=18_000)


def kept_alerts(run: api.Run) -> list[dict[str, object]]:
    alerts: list[dict[str, object]] = json.loads(run.folder.alerts_path.read_text())["alerts"]
    return alerts


def test_a_run_that_was_resumed_has_the_alerts_that_it_found_itself(sick: api.Run) -> None:
    found = api.diagnose(sick)
    assert [alert.to_json() for alert in found.alerts] == kept_alerts(sick)
    assert {"entropy.collapse", "kl.spike"} <= {alert.id for alert in found.alerts}
    assert [alert.id for alert in found.alerts] == sorted(alert.id for alert in found.alerts)
    assert "critical" in found.counts()
    assert api.diagnose(sick.id, runs_dir=sick.folder.root) == found
    assert api.diagnose(sick.folder.metrics_path) == found  # its settings are beside it


class Midway(api.Hook):
    """Diagnoses the run while it trains."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.before: tuple[tuple[str, int], ...] = ()
        self.agrees: list[bool] = []

    def after_update(self, report: api.Report) -> Sequence[api.Command]:
        if report.updates > 1:  # this update's row is written once hooks have seen it
            found = {alert.id: alert.count for alert in api.diagnose("@last", runs_dir=self.root).alerts}
            self.agrees.append(all(found.get(id_) == count for id_, count in self.before))
        self.before = tuple((alert.id, alert.count) for alert in report.alerts)
        return ()


def test_a_run_that_is_being_trained_has_the_alerts_so_far(tmp_path: Path) -> None:
    midway = Midway(tmp_path)
    settings = {"algo.lr": 0.3, "eval.every": 0}
    api.train("CartPole-v1:ppo", overrides=settings, max_env_steps=8_192, runs_dir=tmp_path, hooks=[midway])
    assert midway.before  # it has alerts
    assert len(midway.agrees) == 7
    assert all(midway.agrees)


def test_a_crashed_run_is_diagnosed_as_far_as_it_came(sick: api.Run, tmp_path: Path) -> None:
    copy = tmp_path / sick.id
    shutil.copytree(sick.path, copy)
    text = (copy / "metrics.csv").read_text()
    (copy / "metrics.csv").write_text(text[: len(text) * 2 // 3])  # in the middle of a row
    found = api.diagnose(copy)
    assert 5 < found.updates < len(text.splitlines()) - 1
    assert "kl.spike" in {alert.id for alert in found.alerts}
    (copy / "config.yaml").unlink()
    without = api.diagnose(copy)
    assert "config" in without.notes[0]
    spike = next(alert for alert in without.alerts if alert.id == "kl.spike")
    assert "algo.lr is 0.3: try 0.001" in spike.advice  # opt/lr is in the metrics
    (copy / "metrics.csv").unlink()
    assert {alert.id for alert in api.diagnose(copy).alerts} == {
        str(alert["id"]) for alert in kept_alerts(sick)
    }
    (copy / "alerts.json").unlink()
    with pytest.raises(GymnastError, match="has no metrics: a row is written after each update"):
        api.diagnose(copy)


def test_metrics_without_their_run_give_the_same_alerts(sick: api.Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(sick.folder.metrics_path.read_text() + "12,13")
    found = api.diagnose(file)
    assert found.made_by == "Gymnast"
    assert found.notes == ("the last row is half written and was left out",)
    assert {alert.id for alert in found.alerts} >= {"entropy.collapse", "kl.spike"}


def test_a_stuck_run_of_stable_baselines3_is_explained_in_its_own_words() -> None:
    """Explained variance 6e-8, value loss 738,000, entropy 1.33 of 1.386, nothing clipped, a flat reward."""
    found = api.diagnose(DATA / "sb3_issue_2240_progress.csv")
    alerts = {alert.id: alert for alert in found.alerts}
    assert found.made_by == "Stable-Baselines3"
    assert {"entropy.stuck", "ev.low", "kl.low", "target.scale"} <= set(alerts)
    assert alerts["entropy.stuck"].metric == "train/entropy_loss"
    assert "maximum taken as ln 4: 4 actions" in alerts["entropy.stuck"].message
    assert alerts["target.scale"].metric == "train/value_loss"
    assert "estimated from the value loss" in alerts["target.scale"].message
    assert "VecNormalize" in alerts["target.scale"].advice
    assert "learning_rate is 0.0003: try" in alerts["kl.low"].advice
    assert alerts["ev.low"].severity == "warning"
    told = " ".join(f"{alert.metric} {alert.message} {alert.advice}" for alert in found.alerts)
    assert not [word for word in ("algo.", "policy.", "opt/", "train/kl") if word in told]


def test_score_that_only_scatters_is_not_above_its_start(tmp_path: Path) -> None:
    """Stable-Baselines3 logs no spread of returns: the scores' own scatter is what they are compared with."""
    columns = "time/total_timesteps,rollout/ep_rew_mean,train/entropy_loss,train/explained_variance"
    for seed in range(5):
        scatter = random.Random(seed)
        rows = [f"{2048 * i},{-2300 + scatter.gauss(0, 20)},-1.33,6e-08" for i in range(1, 60)]
        file = tmp_path / f"{seed}.csv"
        file.write_text("\n".join([columns, *rows]) + "\n")
        alerts = {alert.id: alert.severity for alert in api.diagnose(file).alerts}
        assert alerts["entropy.stuck"] == alerts["ev.low"] == "warning"


def test_real_files_of_stable_baselines3_tell_a_sick_run_from_a_healthy_one() -> None:
    healthy = api.diagnose(DATA / "sb3_progress.csv")
    assert not [alert for alert in healthy.alerts if alert.severity != "info"]
    sick = {alert.id: alert for alert in api.diagnose(DATA / "sb3_sick_progress.csv").alerts}
    assert sick["kl.spike"].severity == sick["entropy.collapse"].severity == "critical"
    assert "learning_rate is 0.3: try 0.001" in sick["kl.spike"].advice


def write_cleanrl(folder: Path, updates: int = 40) -> Path:
    """As ppo.py of CleanRL writes it, with a learning rate of 0.1: it collapses in the first update."""
    writer_of = pytest.importorskip("tensorboardX").SummaryWriter
    with writer_of(str(folder)) as writer:
        rows = "|learning_rate|0.1|\n|ent_coef|0.0|\n|update_epochs|4|\n|total_timesteps|20480|\n|env_id|X|"
        writer.add_text("hyperparameters", f"|param|value|\n|-|-|\n{rows}")
        for update in range(1, updates + 1):
            step = 512 * update
            for episode in range(4):
                writer.add_scalar("charts/episodic_return", 9.0 + episode % 2, step - 100 + episode)
                writer.add_scalar("charts/episodic_length", 9.0 + episode % 2, step - 100 + episode)
            collapsed = update > 1
            writer.add_scalar("charts/learning_rate", 0.1, step)
            writer.add_scalar("losses/value_loss", 30.0, step)
            writer.add_scalar("losses/policy_loss", 0.01, step)
            writer.add_scalar("losses/entropy", 1e-9 if collapsed else 0.69, step)
            writer.add_scalar("losses/old_approx_kl", 0.0 if collapsed else 20.0, step)
            writer.add_scalar("losses/approx_kl", 0.0 if collapsed else 20.0, step)
            writer.add_scalar("losses/clipfrac", 0.0 if collapsed else 0.9, step)
            writer.add_scalar("losses/explained_variance", 0.0, step)
            writer.add_scalar("charts/SPS", 1000, step)
    return folder


@pytest.fixture(scope="module")
def cleanrl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cleanrl(tmp_path_factory.mktemp("cleanrl") / "CartPole-v1__ppo__1")


def test_a_folder_of_cleanrl_is_explained_in_its_own_words(cleanrl: Path) -> None:
    found = api.diagnose(cleanrl)
    alerts = {alert.id: alert for alert in found.alerts}
    assert (found.made_by, found.updates, found.env_steps) == ("CleanRL", 40, 20480)
    assert alerts["kl.spike"].metric == "losses/approx_kl"
    assert "--learning-rate is 0.1: try 0.001" in alerts["kl.spike"].advice
    assert "--ent-coef is 0: try 0.01" in alerts["entropy.collapse"].advice
    assert "maximum taken as ln 2: 2 actions" in alerts["entropy.collapse"].message
    assert api.diagnose(cleanrl.parent).alerts == found.alerts  # the only run in there


def test_an_event_file_that_is_cut_off_or_damaged_is_read_as_far_as_it_goes(
    cleanrl: Path, tmp_path: Path
) -> None:
    data = next(cleanrl.glob("*tfevents*")).read_bytes()
    for size in range(len(data) - 30, len(data), 7):
        (tmp_path / EVENTS).write_bytes(data[:size])
        found = api.diagnose(tmp_path)
        assert "half written or damaged" in found.notes[0]
        assert found.updates >= 39
    place = len(data) // 2
    (tmp_path / EVENTS).write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    assert "damaged" in api.diagnose(tmp_path).notes[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "is empty: nothing was recorded yet"),
        ("progress.csv", b"train/approx_kl,train/entropy_loss\n", "has a header but no rows"),
        ("other.csv", b"a,b\n1,2\n", r"none of its 2 columns is known \(a, b\); expected names such as"),
        ("picture.png", bytes(range(256)) * 50, "neither a CSV file with a header nor a TensorBoard"),
        ("half.csv", b"train/approx_kl,train/ent", "neither a CSV file with a header nor a TensorBoard"),
    ],
)
def test_files_that_cannot_be_diagnosed_are_named_with_the_reason(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GymnastError, match=message):
        api.diagnose(tmp_path / name)


def test_run_whose_metrics_are_lost_shows_what_it_kept_and_says_so(sick: api.Run, tmp_path: Path) -> None:
    copy = tmp_path / sick.id
    shutil.copytree(sick.path, copy)
    (copy / "metrics.csv").unlink()
    found = api.diagnose(copy)
    assert [alert.to_json() for alert in found.alerts] == kept_alerts(sick)
    assert found.notes == (
        "metrics.csv has no rows that can be read; the alerts are those that the run itself kept",
    )


def test_places_without_metrics_get_the_way_out(sick: api.Run, tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match=r"holds no metrics: no metrics.csv, no progress.csv"):
        api.diagnose(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "progress.csv").write_text("x\n")
    with pytest.raises(GymnastError, match="holds 2 runs; name one of them: a, b"):
        api.diagnose(tmp_path)
    (tmp_path / "progress.csv").write_text("x\n")
    with pytest.raises(GymnastError, match=r"no file or folder .*progres\.csv \(did you mean 'progress\.csv"):
        api.diagnose(tmp_path / "progres.csv")
    wrong = sick.id[:-1] + ("a" if sick.id[-1] != "a" else "b")
    with pytest.raises(GymnastError, match=f"did you mean '{sick.id}'"):
        api.diagnose(wrong, runs_dir=sick.folder.root)


@settings(max_examples=25)
@given(data=st.data())
def test_no_bytes_break_the_readers(data: st.DataObject, cleanrl: Path, tmp_path_factory: Any) -> None:
    """Each is diagnosed as far as it can be read, or refused in one line."""
    whole = data.draw(
        st.sampled_from(
            [
                b"",
                (DATA / "sb3_progress.csv").read_bytes()[:4000],
                next(cleanrl.glob("*tfevents*")).read_bytes()[:4000],
            ]
        )
    )
    place = data.draw(st.integers(0, len(whole)))
    file = tmp_path_factory.mktemp("bytes") / "file"
    file.write_bytes(whole[:place] + data.draw(st.binary(max_size=40)) + whole[place + 3 :])
    with suppress(GymnastError):
        assert api.diagnose(file).updates > 0


@pytest.mark.parametrize(
    ("entropies", "actions"),
    [
        ([1.386, 1.38, 1.37], 4),
        ([1.33], 4),
        ([0.69], 2),
        ([math.log(18)], 18),
        ([1.4189], None),  # one continuous action
        ([6 * 1.4189], None),
        ([1.2], None),
        ([-3.0], None),
        ([], None),
        ([float("nan")], None),
    ],
)
def test_the_number_of_actions_is_inferred_from_the_first_entropies(
    entropies: list[float], actions: int | None
) -> None:
    assert likely_actions(entropies) == actions
